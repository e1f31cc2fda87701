"""Time that goes on without events, on a real broker: a quiet topic holds nothing up, and a stream that stops is closed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headrace.broker import peek, send, topics
from headrace.broker.records import Record
from tests.cli.test_run_command import runs as runs

APP = """
import headrace as hr

app = hr.App("app-IN")
source = dict(schema="k string, at timestamp", time="at", lateness="5 seconds", idle_after="2 seconds", close_after="6 seconds")
both = app.stream("IN-a", **source).merge(app.stream("IN-b", **source))
both.key_by("k").window(hr.tumbling("1 minute"), emit="final").count().to("OUT")
both.key_by("k").window(hr.session(gap="20 seconds"), close_after="7 seconds").count().to("OUT-sessions")
"""


def test_an_idle_topic_does_not_hold_the_others_and_a_quiet_stream_closes(
    broker: Any, topic: str, runs: Any, tmp_path: Path
) -> None:
    out = f"{topic}-out"
    (tmp_path / "app.py").write_text(APP.replace("IN", topic).replace("OUT", out))

    def put(name: str, *times: str) -> None:
        records = [Record(json.dumps({"k": "A", "at": f"2024-01-01T10:{each}Z"}).encode()) for each in times]
        send.send(broker.connection, f"{topic}-{name}", records)

    def counts(**options: Any) -> list[tuple[str, int]]:
        rows = [json.loads(record.value or b"{}") for record in peek.read(broker.connection, out, **options)]
        return [(row["window_start"][14:16], row["count"]) for row in rows]

    for name in ("a", "b"):
        topics.create(broker.connection, f"{topic}-{name}")
    topics.create(broker.connection, out)
    topics.create(broker.connection, f"{out}-sessions")
    put("a", "00:10.000501", "00:20.25")
    put("b", "00:30.5")
    run = runs("--broker", broker.address)
    batches = run.batches()
    assert next(batches)["query"] in (out, f"{out}-sessions")
    # By its own time the topic b has come no further than 10:00:30; it is idle, so a's time counts.
    put("a", "02:10.000999")
    assert counts(follow=True, limit=1) == [("00", 3)]
    # Now both are quiet, and the window of 10:02 is closed by the clock.
    assert counts(follow=True, limit=2) == [("00", 3), ("02", 1)]
    # To the microsecond, by a silence of its own.
    sessions = [
        json.loads(record.value or b"{}") for record in peek.read(broker.connection, f"{out}-sessions", follow=True, limit=2)
    ]
    assert [(row["window_start"][14:26], row["window_end"][14:26], row["count"]) for row in sessions] == [
        ("00:10.000501", "00:50.500000", 3),
        ("02:10.000999", "02:30.000999", 1),
    ]
    put("a", "02:20")
    late = next(batch for batch in batches if batch["late"])
    assert (late["late"], late["held_by"] in (f"{topic}-a", f"{topic}-b")) == (1, True)
    assert counts() == [("00", 3), ("02", 1)]
