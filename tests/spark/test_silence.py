"""Times in microseconds, while Spark's watermark knows milliseconds: silence closes all that is open, nothing closes early."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import headrace as hr

START = datetime(2024, 1, 1, 10, tzinfo=UTC)
SCHEMA = "k string, at timestamp"
MICRO = timedelta(microseconds=1)


def micros(time: datetime) -> int:
    return (time - START) // MICRO


def test_an_event_within_its_lateness_counts_to_the_microsecond(drive: Any) -> None:
    app = hr.App("early")
    events = app.stream("events", schema=SCHEMA, time="at", lateness="1500 microseconds")
    events.key_by("k").window(hr.tumbling("1 millisecond"), emit="final").count().to("out")
    prompt = app.stream("prompt", schema=SCHEMA, time="at", lateness="0 seconds")
    prompt.dedupe("k", within="1500 microseconds").to("first")
    driver = drive(app)
    driver.feed("events", "k | at\nA | 10:00:00.002400").feed("prompt", "k | at\nA | 10:00:00\nB | 10:00:00.001200").run()
    driver.feed("events", "k | at\nA | 10:00:00.000950").feed("prompt", "k | at\nA | 10:00:00.001400").run()
    driver.advance("1 second")
    assert [(micros(row["window_start"]), row["count"]) for row in driver.rows("out")] == [(0, 1), (2000, 1)]
    assert driver.total("out").late == 0
    assert [row["k"] for row in driver.rows("first")] == ["A", "B"]


def test_silence_does_not_wait_until_duplicates_are_forgotten(drive: Any) -> None:
    app = hr.App("forget")
    events = app.stream("events", schema=SCHEMA, time="at", lateness="0 seconds", close_after="30 seconds")
    events.dedupe("k", within="1 day").window(hr.tumbling("1 minute"), emit="final").count().to("out")
    driver = drive(app).feed("events", "k | at\nA | 10:00:10").run().advance("30 seconds")
    driver.feed("events", "k | at\nA | 10:05:00\nB | 10:05:00").run().advance("30 seconds")
    assert [(micros(row["window_start"]) // 60_000_000, row["count"]) for row in driver.rows("out")] == [(0, 1), (5, 1)]
    assert driver.total("out").late == 0


def test_a_window_is_closed_by_its_own_silence_and_no_other_with_it(drive: Any) -> None:
    app = hr.App("devices")
    events = app.stream("events", schema=SCHEMA, time="at", lateness="10 seconds").key_by("k")
    sessions = events.window(hr.session(gap="30 minutes"), close_after="30 seconds").agg(n="count(*)")
    sessions.to("sessions")
    events.window(hr.calendar("day"), emit="final").agg(n="count(*)").to("days")
    # The day of the sessions has to wait for its end, too; it goes on in a query of its own.
    sessions.key_by("k").window(hr.calendar("day"), emit="final").agg(n="sum(n)").to("days-by-session")
    # The same topic with other options: here an hour of silence closes all windows.
    hourly = app.stream("events", schema="k string, at timestamp, x int", time="at", lateness="1 second", close_after="1 hour")
    hourly.select("k", "at").merge(events).key_by("k").window(hr.calendar("day"), emit="final").agg(n="count(*)").to("twice")
    driver = drive(app).feed("events", "k | at\nA | 22:00:00.000001\nA | 22:10:00.0005").run()
    topics = ("sessions", "days", "days-by-session", "twice")

    def found() -> dict[str, list[int]]:
        return {topic: [row["n"] for row in driver.rows(topic)] for topic in topics}

    driver.advance("29 seconds")
    assert found() == {"sessions": [], "days": [], "days-by-session": [], "twice": []}
    driver.advance("1 second")
    assert found() == {"sessions": [2], "days": [], "days-by-session": [], "twice": []}
    driver.feed("events", "k | at\nA | 22:45:00").run().advance("59 minutes")
    assert found() == {"sessions": [2, 1], "days": [], "days-by-session": [], "twice": []}
    driver.advance("1 minute")
    assert found() == {"sessions": [2, 1], "days": [], "days-by-session": [], "twice": [6]}
    driver.feed("events", "k | at\nA | 2024-01-02 00:30:00").run()
    driver.feed("events", "k | at\nA | 2024-01-03 02:00:00").run().advance("30 seconds")
    assert found() == {"sessions": [2, 1, 1, 1], "days": [3, 1], "days-by-session": [3, 1], "twice": [6, 2]}
    assert [driver.total(topic).late for topic in topics] == [0, 0, 0, 0]
