"""Measures, prints, and writes the figures into docs/performance.md."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from bench import ends, floor, latency, sliding, tables
from headrace.broker import connect, embedded, peek, topics
from headrace.broker.client import Connection
from headrace.config import Config
from headrace.version import __version__

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "performance.md"
SYMBOLS, PARTITIONS = 1000, 4
PARTS = ("bench", "sliding", "tables", "floor", "ends", "latency")
JOBS = {"count": "count per key", "filter": "count per key of nine in ten", "window": "5 s tumbling min/max/avg/count"}


def main() -> int:
    options = argparse.ArgumentParser(prog="make bench")
    options.add_argument("--rows", type=int, default=2_000_000)
    options.add_argument("--passes", type=int, default=5, help="the first is cold, the best of the others is warm")
    options.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="measure these parts alone")
    args = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="headrace-bench-"))
    config = Config.load({"broker": "embedded"}, cwd=folder, environ={})
    try:
        began = time.monotonic()
        connection = connect.connect(config)
        up = time.monotonic() - began
        fill(connection, args.rows)
        parts = {
            "bench": lambda: jobs(connection, folder, args, up),
            "sliding": lambda: sliding.table(connection, folder),
            "tables": lambda: tables.table(connection, folder, args.rows),
            "floor": lambda: floor.table(connection, folder),
            "ends": lambda: ends.table(connection, folder, args.rows),
            "latency": lambda: latency.table(connection, folder),
        }
        for mark in args.only:
            found = parts[mark]()
            print(found, flush=True)
            write(mark, found)
    finally:
        embedded.down(config)
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def write(mark: str, found: str) -> None:
    """Into the page, between the marks of that name."""
    text = PAGE.read_text()
    PAGE.write_text(re.sub(rf"(?s)(<!-- {mark} -->\n).*(<!-- /{mark} -->)", lambda m: m[1] + found + "\n" + m[2], text))


def jobs(connection: Connection, folder: Path, args: argparse.Namespace, up: float) -> str:
    figures = {(impl, job): measure(connection, folder, impl, job, args) for job in JOBS for impl in ("plain", "headrace")}
    return render(figures, args.rows, up, first_result(connection, folder))


def fill(connection: Connection, rows: int) -> None:
    """Trades in order of time, 20 a millisecond of event time, spread over the partitions by symbol."""
    print(f"producing {rows:,} trades ...", file=sys.stderr, flush=True)
    topics.create(connection, "trades", partitions=PARTITIONS)
    producer = connection.producer(linger_ms=50, batch_num_messages=10_000, queue_buffering_max_messages=500_000)
    for partition, value in trades(rows):
        while True:
            try:
                producer.produce("trades", value=value, partition=partition)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def trades(rows: int) -> Iterator[tuple[int, bytes]]:
    second = ""
    for i in range(rows):
        symbol = i * 7919 % SYMBOLS
        millis = 1_704_103_200_000 + i // 20
        if i % 20_000 == 0:
            second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(millis // 1000))
        price = 50 + (i * 31 % 10_000) / 100
        value = f'{{"symbol":"SYM{symbol:04}","price":{price},"qty":{i % 500 + 1},"at":"{second}.{millis % 1000:03}Z"}}'
        yield symbol % PARTITIONS, value.encode()


def measure(connection: Connection, folder: Path, impl: str, job: str, args: argparse.Namespace) -> list[float]:
    """Seconds of each pass, each on a fresh checkpoint, all in one process of their own."""
    print(f"{JOBS[job]}: {impl} ...", file=sys.stderr, flush=True)
    topics.ensure(connection, f"out-{impl}-{job}", partitions=PARTITIONS)
    command = [sys.executable, "-m", "bench.worker", impl, job, connection.address, str(folder), str(args.passes)]
    done = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True, check=True)
    passes: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert all(each["rows"] == args.rows for each in passes), passes
    for each in passes:
        print(
            f"  pass {each['pass']}: {each['seconds']:.2f} s, {args.rows / each['seconds']:,.0f} rows/s",
            file=sys.stderr,
            flush=True,
        )
    return [each["seconds"] for each in passes]


def first_result(connection: Connection, folder: Path) -> float:
    """From typing `headrace run` on word count to its first result in the topic."""
    topics.create(connection, "lines")
    producer = connection.producer()
    producer.produce("lines", value=b"the first line")
    producer.flush()
    topics.create(connection, "word-counts")
    began = time.monotonic()
    command = [
        sys.executable,
        "-m",
        "headrace",
        "run",
        str(HERE.parent / "examples" / "word_count.py"),
        "--broker",
        connection.address,
    ]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
    try:
        next(iter(peek.read(connection, "word-counts", follow=True, limit=1)))
        return time.monotonic() - began
    finally:
        process.terminate()
        process.wait(60)


def render(figures: dict[tuple[str, str], list[float]], rows: int, up: float, first: float) -> str:
    lines = [
        f"Headrace {__version__}, {date.today()}, {os.cpu_count()} cores, {rows:,} JSON trades in {PARTITIONS} partitions, "
        f"{SYMBOLS:,} keys, topic to topic.",
        "",
        "| job | plain PySpark, cold | warm | Headrace, cold | warm | ratio, cold | ratio, warm |",
        "|---|---|---|---|---|---|---|",
    ]
    for job, title in JOBS.items():
        plain, ours = figures["plain", job], figures["headrace", job]
        cells = [f"{rows / seconds / 1000:,.0f}k/s" for seconds in (plain[0], min(plain[1:]), ours[0], min(ours[1:]))]
        ratios = [f"{plain[0] / ours[0]:.2f}", f"**{min(plain[1:]) / min(ours[1:]):.2f}**"]
        lines.append(f"| {title} | {' | '.join([*cells, *ratios])} |")
    lines += [
        "",
        f"The embedded broker answers {up:.1f} s after its first start. `headrace run` of word count shows its first result",
    ]
    lines += [f"after {first:.1f} s."]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
