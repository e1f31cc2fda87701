"""`headrace run` as people use it: a process of its own, stopped, killed and started again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.broker import embedded, peek, send, topics
from headrace.broker.records import Record
from headrace.config import Config

APP = """
import headrace as hr

app = hr.App("APP")
stream = app.stream("IN", schema="k int, v int")
stream.key_by("k").agg(n="count(*)", total="sum(v)").to("OUT")
"""


class Run:
    """A running `headrace run`, in a process group of its own."""

    def __init__(self, folder: Path, *flags: str) -> None:
        command = [sys.executable, "-m", "headrace", "run", "app.py", "--json", *flags]
        self.errors = (folder / "stderr").open("w+")
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=self.errors, text=True, start_new_session=True
        )

    def batches(self) -> Iterator[dict[str, Any]]:
        for line in self.process.stdout or ():
            yield json.loads(line)

    def said(self) -> str:
        self.errors.seek(0)
        return self.errors.read()

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)

    def end(self) -> None:
        if self.process.poll() is None:
            self.kill()


@pytest.fixture
def runs(tmp_path: Path, topic: str) -> Iterator[Any]:
    text = APP.replace("APP", f"app-{topic}").replace("IN", topic).replace("OUT", f"{topic}-out")
    (tmp_path / "app.py").write_text(text)
    started: list[Run] = []

    def start(*flags: str) -> Run:
        started.append(Run(tmp_path, *flags))
        return started[-1]

    yield start
    for run in started:
        run.end()


def put(broker: Any, topic: str, count: int) -> None:
    records = (Record(json.dumps({"k": i % 100, "v": i}).encode(), key=str(i % 100).encode()) for i in range(count))
    send.send(broker.connection, topic, records, create=True)


def newest(broker: Any, topic: str) -> dict[int, tuple[int, int]]:
    rows = [json.loads(record.value or b"{}") for record in peek.table(peek.read(broker.connection, topic)).values()]
    return {row["k"]: (row["n"], row["total"]) for row in rows}


def expected(count: int) -> dict[int, tuple[int, int]]:
    return {k: (len(range(k, count, 100)), sum(range(k, count, 100))) for k in range(100)}


@pytest.mark.parametrize("kills", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_counts_are_right_after_kill_9(broker: Any, topic: str, runs: Any, kills: int) -> None:
    count = 100_000 * kills
    put(broker, topic, count)
    chance = random.Random()
    for _ in range(kills):
        run = runs("--broker", broker.address, "--batch", "2000")
        batches = run.batches()
        for _ in range(chance.randint(1, 3)):
            last = next(batches)
        time.sleep(chance.random() * 0.5)  # anywhere inside of a batch
        run.kill()
        assert sum(part["offset"] for part in last["offsets"]) < count, (
            "it had counted all before it was killed: that proves nothing"
        )
    assert runs("--broker", broker.address, "--until", "now").process.wait(120) == 0
    assert newest(broker, f"{topic}-out") == expected(count)


@pytest.mark.soak
def test_a_signal_stops_it_cleanly_and_it_goes_on_where_it_was(broker: Any, topic: str, runs: Any) -> None:
    for how in (signal.SIGINT, signal.SIGTERM):
        put(broker, topic, 1000)
        run = runs("--broker", broker.address)
        assert next(run.batches())["rows_in"] == 1000
        run.process.send_signal(how)
        assert run.process.wait(30) == 0
        assert "Traceback" not in run.said()
    assert newest(broker, f"{topic}-out") == {k: (n * 2, total * 2) for k, (n, total) in expected(1000).items()}


def test_spark_that_dies_is_reported_in_one_sentence(broker: Any, topic: str, runs: Any) -> None:
    put(broker, topic, 10)
    run = runs("--broker", broker.address)
    next(run.batches())
    children = subprocess.run(
        ["ps", "-o", "pid=,comm=", "--ppid", str(run.process.pid)], capture_output=True, text=True, check=True
    )
    (java,) = [int(line.split()[0]) for line in children.stdout.splitlines() if "java" in line]
    os.kill(java, signal.SIGKILL)
    assert run.process.wait(60) == 1
    assert "error: Spark stopped" in run.said()
    assert "Traceback" not in run.said()


@pytest.mark.soak
def test_an_embedded_broker_is_started_and_if_it_dies_started_again(topic: str, runs: Any, tmp_path: Path) -> None:
    config = Config.load({}, cwd=tmp_path, environ={})
    (tmp_path / "headrace.toml").write_text("")
    try:
        address = embedded.up(config)
        broker = type("Broker", (), {"connection": config.connection(address)})
        put(broker, topic, 500)
        run = runs()
        batches = run.batches()
        assert next(batches)["rows_in"] == 500
        pid = embedded.status(config).pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        while not embedded.status(config).running or embedded.status(config).pid == pid:
            assert run.process.poll() is None, run.said()
            time.sleep(0.1)
        assert embedded.up(config) == address
        put(broker, topic, 500)
        total = 0
        while total < 500:
            total += next(batches)["rows_in"]
        assert newest(broker, f"{topic}-out")[7] == (10, 2 * sum(range(7, 500, 100)))
        assert topics.exists(broker.connection, topic)
    finally:
        embedded.down(config)
