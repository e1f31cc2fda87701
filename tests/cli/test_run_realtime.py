"""`headrace run --realtime` as people use it: stopped, killed, and gone on with in micro-batches."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any

import pytest

from headrace.broker import groups, peek, send, topics
from headrace.broker.records import Record
from headrace.runtime import run as runtime
from headrace.runtime.display import Silent
from headrace.runtime.load import load
from tests.cli.test_run_command import expected, newest, put
from tests.cli.test_run_command import runs as runs

MORE = """
stream.where("v % 2 = 0").select("k", "v / 2 as half").to("OUT-even")
"""


def eventually(run: Any, holds: Any, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert run.process.poll() is None, run.said()
        assert time.monotonic() < end, run.said()
        time.sleep(0.1)


def accounted(batch: dict[str, Any]) -> dict[str, Any]:
    assert batch["rows_in"] == sum(batch[fate] for fate in ("taken", "filtered", "late", "bad")), batch
    return batch


def times(rounds: int, count: int) -> dict[int, tuple[int, int]]:
    return {k: (n * rounds, total * rounds) for k, (n, total) in expected(count).items()}


def test_results_come_without_a_checkpoint_and_a_signal_ends_the_long_batch(broker: Any, topic: str, runs: Any) -> None:
    put(broker, topic, 1000)
    topics.create(broker.connection, f"{topic}-out")
    run = runs("--broker", broker.address, "--realtime")
    eventually(run, lambda: newest(broker, f"{topic}-out") == times(1, 1000))
    run.process.send_signal(signal.SIGTERM)
    assert run.process.wait(30) == 0
    assert "immediate results, a checkpoint and progress every 5 minutes" in run.said()
    assert "Traceback" not in run.said()


@pytest.mark.soak
def test_the_final_table_is_right_after_a_stop_kill_9_and_a_change_of_mode(
    spark: Any, broker: Any, topic: str, runs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = f"{topic}-out"
    app = tmp_path / "app.py"
    app.write_text(app.read_text() + MORE.replace("OUT", out))
    put(broker, topic, 1000)
    topics.create(broker.connection, out)

    # Results come without a checkpoint, and a signal ends the long batch at once.
    run = runs("--broker", broker.address, "--realtime")
    eventually(run, lambda: newest(broker, out) == times(1, 1000))
    began = time.monotonic()
    run.process.send_signal(signal.SIGTERM)
    assert run.process.wait(30) == 0
    assert time.monotonic() - began < 10
    assert "immediate results, a checkpoint and progress every 5 minutes" in run.said()
    assert "Traceback" not in run.said()

    # All of it is done again, a checkpoint is made, and the process is killed after it.
    run = runs("--broker", broker.address, "--realtime", "--realtime-batch", "1 second")
    read = (batch["rows_in"] for batch in map(accounted, run.batches()) if batch["query"] == out)
    assert sum(takewhile(bool, dropwhile(lambda rows: rows == 0, read))) == 1000
    put(broker, topic, 1000)
    eventually(run, lambda: newest(broker, out) == times(2, 1000))
    run.kill()

    # The same checkpoint serves micro-batches.
    put(broker, topic, 1000)
    monkeypatch.chdir(tmp_path)
    runtime.run(load("app.py"), until="now", flags={"broker": broker.address}, display=Silent())
    assert newest(broker, out) == times(3, 1000)
    halves = [json.loads(record.value or b"")["half"] for record in peek.read(broker.connection, f"{out}-even")]
    assert set(halves) == {float(v) for v in range(500)}
    assert min(map(halves.count, set(halves))) >= 3, "at least once"
    assert sum(part.lag for part in groups.lag(broker.connection, f"app-{topic}")) == 0


TABLES = """
import headrace as hr

app = hr.App("APP")
people = app.table("IN-people", key="id", schema="id int, city string, x int")
clicks = app.stream("IN-clicks", schema="id int, n int")
people.where("x > 10").to("OUT-some")
people.key_by("city").agg(people="count(*)", total="sum(x)", top="max(x)").to("OUT-cities")
clicks.join(people, on="id", how="left").select("n", "city").as_table(key="n").to("OUT-clicks")
"""


@pytest.mark.soak
def test_tables_aggregates_and_joins_end_the_same_in_both_modes(
    spark: Any, broker: Any, topic: str, runs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(random.SystemRandom().randrange(2**32))
    changes = [(str(i), {"id": i, "city": f"c{chance.randrange(5)}", "x": chance.randrange(100)}) for i in range(60)]
    changes += [(key, None if chance.random() < 0.2 else {**row, "x": chance.randrange(100)}) for key, row in changes * 3]
    clicks = [(str(n), {"id": chance.randrange(70), "n": n}) for n in range(200)]

    def feed(name: str, rows: list[Any]) -> None:
        records = [Record(None if row is None else json.dumps(row).encode(), key=key.encode()) for key, row in rows]
        send.send(broker.connection, f"{topic}-{name}", records, create=True)

    def table(mode: str, name: str) -> dict[str, Any]:
        found = peek.table(peek.read(broker.connection, f"{topic}-{mode}-{name}"))
        return {(key or b"").decode(): json.loads(record.value) for key, record in found.items() if record.value is not None}

    for name in ("people", "clicks"):
        feed(name, [])
        topics.ensure(broker.connection, f"{topic}-{name}", partitions=2)
    for name in ("some", "cities", "clicks"):
        topics.create(broker.connection, f"{topic}-realtime-{name}", config={"cleanup.policy": "compact"})
    text = TABLES.replace("IN", topic)
    (tmp_path / "app.py").write_text(text.replace("APP", f"rt-{topic}").replace("OUT", f"{topic}-realtime"))
    run = runs("--broker", broker.address, "--realtime")
    feed("people", changes)
    last = dict(changes)
    living = [row for row in last.values() if row is not None]
    counts = Counter(row["city"] for row in living)
    eventually(run, lambda: {k: row["people"] for k, row in table("realtime", "cities").items()} == counts)
    feed("clicks", clicks)
    eventually(run, lambda: len(table("realtime", "clicks")) == len(clicks))
    run.kill()

    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(text.replace("APP", f"mb-{topic}").replace("OUT", f"{topic}-batches"))
    runtime.run(load("app.py"), until="now", flags={"broker": broker.address}, display=Silent())
    for name in ("some", "cities", "clicks"):
        assert table("realtime", name) == table("batches", name), name
    assert {row["id"] for row in table("batches", "some").values()} == {row["id"] for row in living if row["x"] > 10}
