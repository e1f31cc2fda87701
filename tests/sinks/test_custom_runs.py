"""Your own sink in whole runs: two applications, a failure, a reset; and kill -9."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.broker import peek, send, topics
from headrace.broker.records import Record
from headrace.runtime import run as runtime
from headrace.runtime.checkpoints import reset
from headrace.runtime.display import Silent
from headrace.runtime.events import BatchDone, Event, Restarting
from tests.conftest import Broker
from tests.sinks.folder import Folder, numbers

ROOT = Path(__file__).resolve().parents[2]
POINTS = ("none", "before", "none", "after", "none", "written")
SECONDS = 120.0


@pytest.fixture
def project(spark: Any, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Broker:
    monkeypatch.chdir(tmp_path)
    return broker


def put(broker: Broker, topic: str, numbers: range) -> None:
    send.send(broker.connection, topic, [Record(json.dumps({"n": n}).encode(), str(n).encode()) for n in numbers], create=True)


def app(name: str, topic: str, writer: hr.sinks.Writer) -> hr.App:
    made = hr.App(f"{name}-{topic}")
    made.stream(topic, schema="n int").to(hr.sinks.custom(writer, name="folder"))
    return made


class Waiting:
    """A listener that waits for rows and remembers the restarts."""

    def __init__(self) -> None:
        self.rows, self.changed = 0, threading.Condition()
        self.restarts: list[Restarting] = []

    def __call__(self, event: Event) -> None:
        with self.changed:
            if isinstance(event, BatchDone):
                self.rows = event.total.rows_out
            if isinstance(event, Restarting):
                self.restarts.append(event)
            self.changed.notify_all()

    def until(self, rows: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.rows >= rows, SECONDS)


def test_two_applications_of_a_process_write_to_their_own(project: Broker, topic: str, tmp_path: Path) -> None:
    put(project, topic, range(10))
    heard = Waiting(), Waiting()
    first, second = app("a", topic, Folder(tmp_path / "a")), app("b", topic, Folder(tmp_path / "b"))
    with first.start(broker=project.address, on_event=heard[0], quiet=True) as one:
        with second.start(broker=project.address, on_event=heard[1], quiet=True):
            heard[0].until(10)
            heard[1].until(10)
        assert one.running
        put(project, topic, range(10, 20))
        heard[0].until(20)
    assert sorted(numbers(tmp_path / "a")) == list(range(20))
    assert sorted(numbers(tmp_path / "b")) == list(range(10))


class Unlucky(Folder):
    """Its first commit is made, and the answer is lost."""

    failed = False

    def commit(self, mark: str) -> None:
        super().commit(mark)
        if not self.failed:
            self.failed = True
            raise ConnectionError("no answer")


def test_a_writer_that_fails_is_asked_what_it_has_and_goes_on(project: Broker, topic: str, tmp_path: Path) -> None:
    put(project, topic, range(10))
    heard = Waiting()
    with app("a", topic, Unlucky(tmp_path / "a")).start(broker=project.address, on_event=heard, quiet=True):
        put(project, topic, range(10, 20))
        heard.until(20)
    assert sorted(numbers(tmp_path / "a")) == list(range(20))
    (restart,) = heard.restarts
    assert "commit() failed: ConnectionError: no answer (in commit, " in str(restart)


class Emptied(Folder):
    def clear(self) -> None:
        for file in self.path.glob("*.arrow"):
            file.unlink()


@pytest.mark.parametrize(("output", "found"), [("keep", [0, 1, 2, 0, 1, 2]), ("delete", [0, 1, 2])])
def test_a_reset_writes_all_rows_again(
    project: Broker, topic: str, tmp_path: Path, output: reset.Output, found: list[int]
) -> None:
    put(project, topic, range(3))
    mine = app("a", topic, Emptied(tmp_path / "a"))
    flags = {"broker": project.address}
    runtime.run(mine, until="now", flags=flags, display=Silent())
    assert any("custom.folder" in said for said in reset.consequences(mine, "custom.folder", output, flags=flags))
    reset.reset(mine, "custom.folder", output, flags=flags, display=Silent())
    runtime.run(mine, until="now", flags=flags, display=Silent())
    assert sorted(numbers(tmp_path / "a")) == sorted(found)


def test_every_row_is_there_once_after_two_kills(broker: Broker, topic: str, tmp_path: Path) -> None:
    survives(broker, topic, tmp_path, kills=2)


@pytest.mark.soak
def test_every_row_is_there_once_after_twenty_kills(broker: Broker, topic: str, tmp_path: Path) -> None:
    survives(broker, topic, tmp_path, kills=20)


def survives(broker: Broker, topic: str, folder: Path, *, kills: int) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance, sent = random.Random(seed), 0
    topics.create(broker.connection, topic, partitions=2)
    for struck in range(kills):
        sent = strike(broker, topic, folder, POINTS[struck % len(POINTS)], chance, sent)
    with process(broker, topic, folder, "none", 0, "now") as last:
        assert last.stdout is not None
        assert last.stdout.read().endswith("done\n")
    assert sorted(numbers(folder / "out")) == list(range(sent))


def process(broker: Broker, topic: str, folder: Path, point: str, at: int, until: str) -> subprocess.Popen[str]:
    words = [broker.address, topic, str(folder / "out"), point, str(at), until]
    command = [sys.executable, "-m", "tests.sinks.folder", *words]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def strike(broker: Broker, topic: str, folder: Path, point: str, chance: random.Random, sent: int) -> int:
    """Sends until the process is dead; returns how many were sent by then."""
    at, ended, kill_after = chance.randint(1, 3), threading.Event(), chance.random() * 0.3
    with process(broker, topic, folder, point, at, "for ever") as running:

        def watch() -> None:
            assert running.stdout is not None
            for _ in range(at):
                running.stdout.readline()
            if point == "none":
                ended.wait(kill_after)
                running.send_signal(signal.SIGKILL)
            running.wait()
            ended.set()

        threading.Thread(target=watch, daemon=True).start()
        try:
            while not ended.wait(0.02):
                put(broker, topic, range(sent, sent + 50))
                sent += 50
        finally:
            running.kill()
    assert running.returncode == -signal.SIGKILL
    return sent


def test_the_rows_of_a_query_go_to_a_topic_and_to_a_writer(project: Broker, topic: str, tmp_path: Path) -> None:
    put(project, topic, range(5))
    mine = hr.App(f"a-{topic}")
    stream = mine.stream(topic, schema="n int")
    stream.to(f"{topic}-out")
    stream.to(hr.sinks.custom(Folder(tmp_path / "a"), name="folder"))
    runtime.run(mine, until="now", flags={"broker": project.address}, display=Silent())
    assert sorted(numbers(tmp_path / "a")) == list(range(5))
    assert len(list(peek.read(project.connection, f"{topic}-out"))) == 5
