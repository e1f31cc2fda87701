"""`headrace run --realtime` as people use it: killed, started again, stopped, and gone on with in micro-batches."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

from headrace.broker import groups, peek
from tests.cli.test_run_command import expected, newest, put
from tests.cli.test_run_command import runs as runs

MORE = """
stream.where("v % 2 = 0").select("k", "v / 2 as half").to("OUT-even")
"""


def eventually(run: Any, holds: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert run.process.poll() is None, run.said()
        assert time.monotonic() < end, run.said()
        time.sleep(0.1)


def times(rounds: int, count: int) -> dict[int, tuple[int, int]]:
    return {k: (n * rounds, total * rounds) for k, (n, total) in expected(count).items()}


def test_the_final_table_is_right_after_kill_9_a_stop_and_a_change_of_mode(
    broker: Any, topic: str, runs: Any, tmp_path: Path
) -> None:
    out = f"{topic}-out"
    app = tmp_path / "app.py"
    app.write_text(app.read_text() + MORE.replace("OUT", out))
    put(broker, topic, 1000)
    flags = "--broker", broker.address, "--realtime", "--realtime-batch"

    # A checkpoint is made, then results come without one, and the process is killed.
    run = runs(*flags, "4 seconds")
    assert next(run.batches())["rows_in"] == 1000
    put(broker, topic, 1000)
    eventually(run, lambda: newest(broker, out) == times(2, 1000))
    run.kill()

    # What was since the checkpoint is done again, and the table is right; a signal ends the long batch at once.
    put(broker, topic, 1000)
    run = runs(*flags, "5 minutes")
    eventually(run, lambda: newest(broker, out) == times(3, 1000))
    began = time.monotonic()
    run.process.send_signal(signal.SIGTERM)
    assert run.process.wait(30) == 0
    assert time.monotonic() - began < 10
    assert "Traceback" not in run.said()

    # The same checkpoint serves micro-batches.
    assert runs("--broker", broker.address, "--until", "now").process.wait(60) == 0
    assert newest(broker, out) == times(3, 1000)
    halves = [json.loads(record.value or b"")["half"] for record in peek.read(broker.connection, f"{out}-even")]
    assert set(halves) == {float(v) for v in range(500)}
    assert min(map(halves.count, set(halves))) >= 3, "at least once"
    assert sum(part.lag for part in groups.lag(broker.connection, f"app-{topic}")) == 0
