"""Where rows go: topics exactly once beside Spark's own Kafka sink, databases, and what a small batch costs more."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import headrace as hr
from bench.worker import SCHEMA
from headrace import jars
from headrace.broker import topics
from headrace.broker.client import Connection
from headrace.config import Config
from headrace.plan.queries import QuerySpec
from headrace.runtime import run
from headrace.spark import ends, jvm
from headrace.spark.compile import Compiled, compile
from headrace.spark.read import inputs
from headrace.spark.session import session

ROOT = Path(__file__).parent.parent
PASSES, SMALL, WARM, ROWS = 5, 60, 30, 10


def app(kind: str, number: int, folder: Path, server: str) -> hr.App:
    """A pass has a name of its own: it is another application, with marks of its own."""
    made = hr.App(f"ends-{kind}-{number}")
    if kind in ("spark", "topics"):
        delivery = "at_least_once" if kind == "spark" else "exactly_once"
        made.stream("trades", schema=SCHEMA).key_by("symbol").to(f"copies-{kind}", delivery=delivery)
    elif kind.startswith("small"):
        delivery = "at_least_once" if kind == "small-spark" else "exactly_once"
        made.stream("small", schema="key string, n int").where("n >= 0").to(f"out-{kind}", delivery=delivery)
    else:
        left = made.table("left", key="id", schema="id int, of int, name string, amount int")
        url = f"postgresql://postgres@127.0.0.1:{server}/postgres"
        table = f"t{number}"
        left.to(hr.sinks.postgres(url, table=table) if kind == "postgres" else hr.sinks.sqlite(folder / "t.db", table=table))
    return made


class Place:
    """A session and a broker, for the passes of one kind."""

    def __init__(self, address: str, folder: Path) -> None:
        self.config = Config.load({}, cwd=folder, environ={})
        log = self.config.home / "logs" / "bench.log"
        self.connection = Connection(address)
        self.spark = session(
            "bench",
            master=self.config.master,
            memory=self.config.driver_memory,
            jars=tuple(jars.connector_jars()),
            log=log,
        )

    def query(self, app: hr.App) -> Compiled:
        (spec,) = app.queries()
        run.own_topics(self.connection, spec)
        return compile(spec, lambda node: inputs.of(node, self.connection, self.config).records(self.spark))

    def writer(self, query: Compiled, folder: Path) -> ends.DataStreamWriter:
        spec: QuerySpec = query.spec
        checkpoint = f"{folder}/state/{spec.app}"
        ends.register(query, run.places(spec, self.config, self.connection))
        if spec.delivery == "exactly_once":
            jvm.begin_sink(self.spark, spec.id, checkpoint)
        made = ends.at_least_once(query, self.connection) if spec.delivery == "at_least_once" else ends.exactly_once(query)
        return made.option("checkpointLocation", checkpoint)


def main() -> None:
    kind, address, folder, server = sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4]
    place = Place(address, folder)
    if kind.startswith("small"):
        print(json.dumps({"median": _small(place, kind, folder)}), flush=True)
        return
    for number in range(PASSES):
        query = place.query(app(kind, number, folder, server))
        began = time.monotonic()
        running = place.writer(query, folder).trigger(availableNow=True).start()
        running.awaitTermination()
        rows = sum(report.numInputRows for report in running.recentProgress)
        print(json.dumps({"rate": rows / (time.monotonic() - began)}), flush=True)


def _small(place: Place, kind: str, folder: Path) -> float:
    running = place.writer(place.query(app(kind, 0, folder, "")), folder).start()
    producer = place.connection.producer(linger_ms=0)
    running.processAllAvailable()
    found: list[float] = []
    for number in range(SMALL):
        for i in range(ROWS):
            producer.produce("small", json.dumps({"key": f"key-{i}", "n": number}).encode(), f"key-{i}".encode(), partition=0)
        producer.flush()
        running.processAllAvailable()
        took = [each.durationMs["triggerExecution"] for each in running.recentProgress[-5:] if each.numInputRows]
        if number >= WARM and took:
            found.append(took[-1])
    running.stop()
    return statistics.median(found)


def measure(connection: Connection, folder: Path, kind: str, key: str, server: str = "-") -> float:
    print(f"ends: {kind} ...", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "bench.ends", kind, connection.address, str(folder), server]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found = [json.loads(line)[key] for line in done.stdout.splitlines() if line.startswith("{")]
    print("  " + ", ".join(f"{each:,.0f}" for each in found), file=sys.stderr, flush=True)
    return max(found[1:] or found)


def table(connection: Connection, folder: Path, rows: int) -> str:
    from bench import tables
    from tests.sinks.servers import postgres

    for kind in ("spark", "topics"):
        topics.ensure(connection, f"copies-{kind}", partitions=4)
    for topic in ("small", "out-small-spark", "out-small-topics"):
        topics.ensure(connection, topic, partitions=4)
    tables.fill(connection, "left", rows // 4)
    spark = measure(connection, folder, "spark", "rate")
    ours = measure(connection, folder, "topics", "rate")
    with postgres() as server:
        upserts = measure(connection, folder, "postgres", "rate", str(server.port))
    sqlite = measure(connection, folder, "sqlite", "rate")
    small = [measure(connection, folder, kind, "median") for kind in ("small-spark", "small-topics")]
    return "\n".join(
        [
            f"| {rows:,} trades read, decoded, encoded and written to a topic | rows a second |",
            "|---|---|",
            f"| Spark's own Kafka sink, at least once | {spark / 1000:,.0f}k |",
            f"| exactly once | {ours / 1000:,.0f}k (**{ours / spark:.2f}**) |",
            "",
            f"| {rows // 4:,} changes of a table of 100,000 rows, read and upserted | changes a second |",
            "|---|---|",
            f"| PostgreSQL | {upserts / 1000:,.0f}k |",
            f"| SQLite | {sqlite / 1000:,.0f}k |",
            "",
            f"A micro-batch of {ROWS} rows without state takes {small[0]:.0f} ms with Spark's own sink, exactly once",
            f"{small[1]:.0f} ms.",
        ]
    )


if __name__ == "__main__":
    main()
