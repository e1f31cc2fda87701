"""Times in microseconds, while Spark's watermark knows milliseconds: silence closes all that is open, nothing closes early."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import headrace as hr

START = datetime(2024, 1, 1, 10, tzinfo=UTC)
SCHEMA = "k string, at timestamp"
SIZE, GAP = 60_000_007, 45_000_003
MICRO = timedelta(microseconds=1)


def micros(time: datetime) -> int:
    return (time - START) // MICRO


def test_silence_closes_all_that_is_open_at_any_microsecond_and_not_before(drive: Any) -> None:
    chance = random.Random(14)
    app = hr.App("silence")
    options: Any = {"schema": SCHEMA, "time": "at", "lateness": "10 seconds", "close_after": "30 seconds"}
    events = app.stream("events", **options)
    others = app.stream("others", **options)
    rates = app.table("rates", key="k", schema="k string, since timestamp, rate int", time="since", lateness="10 seconds")
    size, gap = f"{SIZE} microseconds", f"{GAP} microseconds"
    keyed = events.key_by("k")
    keyed.window(hr.tumbling(size), emit="final").count().to("tumbling")
    keyed.window(hr.session(gap=gap)).count().to("sessions")
    keyed.window(hr.session(gap=gap), emit="all").count().to("all-sessions")
    keyed.window(hr.sliding(size)).count().to("sliding")
    keyed.window(hr.tumbling(size), emit=hr.every("7000001 microseconds")).count().to("ticks")
    sessions = keyed.window(hr.session(gap=gap)).agg(n="count(*)")
    sessions.key_by("k").window(hr.tumbling(size), emit="final").agg(n="sum(n)").to("chained")
    events.join(others.drop("at"), on="k", how="full", within=size).select("k").to("joined")
    events.join(rates, on="k", how="left", as_of="event_time").select("k", "rate").to("looked-up")
    driver = drive(app)
    times = {f"k{i}": sorted(chance.sample(range(2_000_000), 3)) for i in range(40)}
    driver.feed("events", [{"k": k, "at": START + t * MICRO} for k, each in times.items() for t in each])
    driver.feed("others", [{"k": f"other{k}", "at": START + t[0] * MICRO} for k, t in times.items()])
    driver.feed("rates", [{"k": k, "rate": 1, "since": START} for k in list(times)[::2]]).run()
    driver.advance("29999999 microseconds")
    waiting = ("sessions", "chained", "joined")
    assert [driver.rows(topic) for topic in waiting] == [[], [], []]
    driver.advance("1 microsecond")

    def final(topic: str) -> dict[tuple[str, int, int], int]:
        # At intervals, a window without events is emitted before its key is forgotten.
        rows = [row for row in driver.rows(topic) if row["final"] and row["count"]]
        return {(row["k"], micros(row["window_start"]), micros(row["window_end"])): row["count"] for row in rows}

    def tumbled(offsets: dict[str, list[int]]) -> Counter[tuple[str, int, int]]:
        begin = (START - datetime(1970, 1, 1, tzinfo=UTC)) // MICRO
        starts = [(k, (begin + t) // SIZE * SIZE - begin) for k, each in offsets.items() for t in each]
        return Counter((k, start, start + SIZE) for k, start in starts)

    assert final("tumbling") == final("ticks") == tumbled(times)
    assert final("sessions") == {(k, each[0], each[-1] + GAP): 3 for k, each in times.items()} == final("all-sessions")
    ends = tumbled({k: [each[-1] + GAP - 1] for k, each in times.items()})
    assert {(row["k"], micros(row["window_start"])): row["n"] for row in driver.rows("chained")} == {
        (k, start): 3 for k, start, _ in ends
    }
    last = {row["k"]: (micros(row["window_end"]), row["count"]) for row in driver.rows("sliding")}
    assert last == {k: (each[-1] + SIZE, 0) for k, each in times.items()}
    alone = Counter({**dict.fromkeys(times, 3), **{f"other{k}": 1 for k in times}})
    assert Counter(row["k"] for row in driver.rows("joined")) == alone
    looked = Counter((row["k"], row["rate"]) for row in driver.rows("looked-up"))
    assert looked == {(k, None if number % 2 else 1): 3 for number, k in enumerate(times)}


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


def test_a_query_behind_another_is_not_quiet_while_the_first_may_write(drive: Any) -> None:
    app = hr.App("behind")
    events = app.stream("events", schema=SCHEMA, time="at", lateness="5 seconds", close_after="1 minute").key_by("k")
    tens = events.window(hr.tumbling("10 minutes"), emit="final").agg(n="count(*)")
    tens.key_by("k").window(hr.tumbling("1 hour"), emit="updates").agg(n="sum(n)").to("hours")
    driver = drive(app).feed("events", "k | at\nA | 10:05:00").run()
    # More than a minute goes by between two rows of the first query, and less between two events.
    for time in ("10:11:00", "10:12:00", "10:13:00", "10:21:00"):
        driver.feed("events", f"k | at\nA | {time}").run().advance("50 seconds")
    driver.advance("1 minute")
    assert [row["n"] for row in driver.table("hours").values()] == [5]
