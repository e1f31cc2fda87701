"""`--until now`: what a run without an end would have written by then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.broker import peek, send
from headrace.runtime import run as runtime
from headrace.runtime.display import Silent
from headrace.runtime.run import Summary


@pytest.fixture
def project(spark: Any, broker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    return broker


def put(broker: Any, topic: str, *times: str) -> None:
    rows = [{"k": "A", "at": f"2024-01-01T10:{each}Z"} for each in times]
    # With a key, so that they stay in order.
    send.send(broker.connection, topic, send.rows(rows, key="k"), create=True)


def counts(broker: Any, topic: str) -> list[tuple[str, int]]:
    rows = [json.loads(record.value or b"null") for record in peek.read(broker.connection, topic)]
    return sorted((row["window_end"][14:].rstrip("Z"), row["n"]) for row in rows)


def test_until_now_closes_what_the_watermark_has_passed_and_waits_for_no_silence(project: Any, topic: str) -> None:
    """Of two streams with all that moves time, two queries, and one behind them that reads what they wrote."""

    def run() -> Summary:
        app = hr.App(f"bounded-{topic}")
        options: Any = {
            "schema": "k string, at timestamp",
            "time": "at",
            "lateness": "5 seconds",
            "idle_after": "1 millisecond",
            "close_after": "1 millisecond",
        }
        events = app.stream(f"{topic}-a", **options)
        both = events.merge(app.stream(f"{topic}-b", **options)).key_by("k")
        both.window(hr.tumbling("1 minute"), emit="final").agg(n="count(*)").to(f"{topic}-minutes")
        events.key_by("k").window(hr.session(gap="10 seconds")).agg(n="count(*)").to(f"{topic}-sessions")
        again = app.stream(
            f"{topic}-sessions",
            schema="k string, window_end timestamp, n int",
            time="window_end",
            lateness="0 seconds",
            close_after="1 millisecond",
        )
        again.key_by("k").window(hr.tumbling("1 minute"), emit="final").agg(n="sum(n)").to(f"{topic}-again")
        return runtime.run(app, until="now", flags={"broker": project.address, "batch": "3"}, display=Silent())

    def found() -> dict[str, list[tuple[str, int]]]:
        return {name: counts(project, f"{topic}-{name}") for name in ("minutes", "sessions", "again")}

    put(project, f"{topic}-a", "00:01.000001", "00:02.5", "01:30.25", "01:50.000999", "02:10", "02:10.1", "03:00")
    put(project, f"{topic}-b", "00:30", "02:07")
    run()
    # b has come to 10:02:02, a to 10:02:55.
    sessions = [("00:12.500000", 2), ("01:40.250000", 1), ("02:00.000999", 1), ("02:20.100000", 2)]
    assert found() == {
        "minutes": [("01:00.000000", 3), ("02:00.000000", 2)],
        "sessions": sessions,
        "again": [("01:00.000000", 2), ("02:00.000000", 1)],
    }
    run()
    assert found()["sessions"] == sessions
    put(project, f"{topic}-a", "05:00.5")
    put(project, f"{topic}-b", "04:00")
    assert [total.late for total in run().totals] == [0, 0, 0]
    assert found() == {
        "minutes": [("01:00.000000", 3), ("02:00.000000", 2), ("03:00.000000", 3)],
        "sessions": [*sessions, ("03:10.000000", 1)],
        "again": [("01:00.000000", 2), ("02:00.000000", 1), ("03:00.000000", 3)],
    }
