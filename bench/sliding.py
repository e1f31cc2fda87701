"""Moving averages over the trades: what an event costs, for windows of several sizes, and how much is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import headrace as hr
from bench.worker import SCHEMA
from headrace import jars
from headrace.broker.client import Connection
from headrace.config import Config
from headrace.spark.compile import compile
from headrace.spark.read import inputs
from headrace.spark.session import session

ROOT = Path(__file__).parent.parent
SIZES = ("10 seconds", "1 minute", "10 minutes")


def app(size: str) -> hr.App:
    app = hr.App("bench")
    keyed = app.stream("trades", schema=SCHEMA, time="at", lateness="10 seconds").key_by("symbol")
    keyed.window(hr.sliding(size)).agg(mean="avg(price)").to("out")
    return app


def main() -> None:
    size, address, folder, passes = sys.argv[1:]
    config = Config.load({}, cwd=Path(folder), environ={})
    log = config.home / "logs" / "bench.log"
    spark = session("bench", master=config.master, memory=config.driver_memory, jars=tuple(jars.connector_jars()), log=log)
    (spec,) = app(size).queries()
    connection = Connection(address)
    rows = compile(spec, lambda node: inputs.of(node, connection, config).records(spark)).rows
    for number in range(int(passes)):
        began = time.monotonic()
        place = f"{folder}/state/sliding-{number}-{os.getpid()}"
        writer = rows.writeStream.format("noop").outputMode(spec.mode).option("checkpointLocation", place)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        seconds = time.monotonic() - began
        reports = [json.loads(report.json) for report in query.recentProgress]
        total = sum(report["numInputRows"] for report in reports)
        kept = sum(state["numRowsTotal"] for state in reports[-1]["stateOperators"])
        print(json.dumps({"seconds": seconds, "rows": total, "kept": kept}), flush=True)


def table(connection: Connection, folder: Path) -> str:
    lines = [
        "The average at every trade that comes or leaves a window, 1,000 keys, without the cost of writing results.",
        "",
        "| window | events/s, warm | cost of an event, beside 10 seconds | rows of state in the end, of up to 256 events |",
        "|---|---|---|---|",
    ]
    first = 0.0
    for size in SIZES:
        print(f"sliding: {size} ...", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "bench.sliding", size, connection.address, str(folder), "6"]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        rate = max(each["rows"] / each["seconds"] for each in found[1:])
        first = first or rate
        lines.append(f"| {size} | {rate / 1000:,.0f}k/s | {first / rate:.2f} | {found[-1]['kept']:,} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
