"""`headrace run --realtime` as people use it: stopped, killed, and gone on with in micro-batches."""

from __future__ import annotations

import json
import signal
import time
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any

import pytest

from headrace.broker import groups, peek, topics
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


def times(rounds: int, count: int) -> dict[int, tuple[int, int]]:
    return {k: (n * rounds, total * rounds) for k, (n, total) in expected(count).items()}


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
    assert "results at once, a checkpoint and progress every 5 minutes" in run.said()
    assert "Traceback" not in run.said()

    # All of it is done again, a checkpoint is made, and the process is killed after it.
    run = runs("--broker", broker.address, "--realtime", "--realtime-batch", "1 second")
    read = (batch["rows_in"] for batch in run.batches() if batch["query"] == out)
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
