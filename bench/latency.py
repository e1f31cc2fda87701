"""Latency from topic to topic: from before an event is sent to after its result is received, both in one Python process."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from confluent_kafka import OFFSET_BEGINNING, TopicPartition

import headrace as hr
from headrace.broker import topics
from headrace.broker.client import Connection

ROOT = Path(__file__).parent.parent
KEYS, PARTITIONS = 1000, 4
Mode = Literal["batches", "realtime"]


def count() -> hr.App:
    """A job reads `events` and writes `results`; each of its rows has the `sent` of the event it is the answer to."""
    app = hr.App("latency-count")
    events = app.stream("events", schema="key string, sent long")
    events.key_by("key").agg(n="count(*)", sent="max(sent)").to("results")
    return app


def select() -> hr.App:
    app = hr.App("latency-select")
    events = app.stream("events", schema="key string, sent long")
    events.where("sent > 0").select("upper(key) as key", "sent").to("results")
    return app


def join() -> hr.App:
    app = hr.App("latency-join")
    names = app.table("names", key="key", schema="key string, name string")
    app.stream("events", schema="key string, sent long").join(names, on="key").to("results")
    return app


JOBS: dict[str, tuple[str, Callable[[], hr.App]]] = {
    "join": ("join with a table", join),
    "count": ("count per key", count),
    "select": ("where, select", select),
}


@dataclass(frozen=True)
class Figures:
    """Milliseconds; `gaps` are the largest of each stretch as long as a batch, so each has a checkpoint in it."""

    p50: float
    p99: float
    largest: float
    gaps: list[float]


def measure(
    connection: Connection,
    folder: Path,
    job: str,
    *,
    mode: Mode = "realtime",
    batch: float = 600,
    rate: int = 1000,
    warm: float = 60,
    seconds: float = 30,
) -> Figures:
    """Runs the job in a process of its own, feeds it, and looks at the results once it is warm. Times are in seconds."""
    for topic in ("events", "results", "names"):
        if topics.exists(connection, topic):
            topics.delete(connection, topic)
        topics.create(connection, topic, partitions=PARTITIONS)
    producer = connection.producer(partitioner="murmur2_random")
    for key in range(KEYS):
        producer.produce("names", json.dumps({"key": f"key-{key}", "name": f"name {key}"}).encode(), f"key-{key}".encode())
    producer.flush()
    home = folder / f"{job}-{mode}-{batch:g}"
    home.mkdir(parents=True)
    log = (home / "stderr").open("w")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HEADRACE_REALTIME_BATCH": f"{batch} seconds"}
    command = [sys.executable, "-m", "bench.latency", job, connection.address, mode]
    process = subprocess.Popen(command, cwd=home, env=environment, stderr=log)
    results = Results(connection)
    try:
        feed(connection, rate, until=lambda: results.count > 0, seconds=90)
        feed(connection, rate, seconds=warm)
        since = time.time()
        feed(connection, rate, seconds=seconds)
        time.sleep(2)
        assert process.poll() is None, (home / "stderr").read_text()
    finally:
        found = results.close()
        process.terminate()
        process.wait(60)
        log.close()
    return figures([(sent, late) for sent, late in found if since <= sent < since + seconds], rate * seconds, batch)


def feed(connection: Connection, rate: int, *, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
    """Sends events evenly; one that is late because this loop was held up is stamped when it is sent."""
    sys.setswitchinterval(0.0002)  # the thread that receives must not wait for this one
    producer = connection.producer(linger_ms=0, partitioner="murmur2_random")
    began = time.perf_counter()
    for i in range(round(rate * seconds)):
        wait = began + i / rate - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        if i % rate == 0 and until():
            break
        key = f"key-{i * 7919 % KEYS}"
        producer.produce("events", json.dumps({"key": key, "sent": time.time_ns() // 1000}).encode(), key.encode())
        producer.poll(0)
    producer.flush()


class Results:
    """Receives in a thread of its own, and notes when each event was sent and how long it took, in seconds."""

    def __init__(self, connection: Connection) -> None:
        self.count = 0
        self._found: list[tuple[int, bytes]] = []
        self._stop = threading.Event()
        self._consumer = connection.consumer(group_id="latency", auto_offset_reset="earliest", enable_auto_commit=False)
        self._consumer.assign([TopicPartition("results", number, OFFSET_BEGINNING) for number in range(PARTITIONS)])
        self._thread = threading.Thread(target=self._receive)
        self._thread.start()

    def _receive(self) -> None:
        while not self._stop.is_set():
            message = self._consumer.poll(0.2)
            if message is not None and message.error() is None:
                self._found.append((time.time_ns() // 1000, message.value() or b""))
                self.count += 1

    def close(self) -> list[tuple[float, float]]:
        self._stop.set()
        self._thread.join()
        self._consumer.close()
        rows = [(at, json.loads(value)["sent"]) for at, value in self._found]
        return [(sent / 1e6, (at - sent) / 1e6) for at, sent in rows]


def figures(found: list[tuple[float, float]], expected: float, batch: float) -> Figures:
    assert len(found) >= expected * 0.99, (len(found), expected)
    late = sorted(late * 1000 for _, late in found)
    first = min(sent for sent, _ in found)
    stretches: dict[int, float] = {}
    for sent, each in found:
        number = int((sent - first) / batch)
        stretches[number] = max(stretches.get(number, 0.0), each * 1000)
    return Figures(statistics.median(late), late[int(len(late) * 0.99)], late[-1], list(stretches.values()))


def table(connection: Connection, folder: Path) -> str:
    """The figures of every job, as Markdown."""
    lines = [
        f"1,000 events a second, {KEYS:,} keys, {PARTITIONS} partitions, topic to topic, in milliseconds.",
        "",
        "| job | micro-batches, p50 | p99 | real-time, p50 | p99 | at a checkpoint, median | largest |",
        "|---|---|---|---|---|---|---|",
    ]
    for job, (title, _) in JOBS.items():
        print(f"latency: {title} ...", file=sys.stderr, flush=True)
        batches = measure(connection, folder, job, mode="batches")
        steady = measure(connection, folder, job)
        short = measure(connection, folder, job, batch=10, seconds=60)
        cells = [batches.p50, batches.p99, steady.p50, steady.p99, statistics.median(short.gaps), max(short.gaps)]
        lines.append(f"| {title} | {' | '.join(f'{cell:,.1f}' if cell < 100 else f'{cell:,.0f}' for cell in cells)} |")
        print("  " + lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def main() -> None:
    job, address, mode = sys.argv[1:]
    JOBS[job][1]().run(mode="realtime" if mode == "realtime" else "batches", broker=address)


if __name__ == "__main__":
    main()
