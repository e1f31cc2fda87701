"""Which silence closes which windows, and where a plan is cut for it."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.errors import PlanError
from headrace.plan.queries import QuerySpec

SECOND = 1_000_000


def stream(app: hr.App, topic: str = "events", **options: Any) -> Any:
    return app.stream(
        topic, schema="k string, v int, at timestamp", **{"time": "at", "lateness": "5 seconds", **options}
    ).key_by("k")


def silences(app: hr.App) -> dict[str, int | None]:
    """By query, in seconds; those of internal topics come as "cut"."""
    queries = app.queries()
    return {_name(query): query.close_after and query.close_after // SECOND for query in queries}


def _name(query: QuerySpec) -> str:
    return "cut" if query.name.startswith("headrace.") else query.name


def test_a_window_has_its_own_silence_or_that_of_its_stream() -> None:
    app = hr.App("a")
    events = stream(app, close_after="1 minute")
    events.window(hr.tumbling("1 hour"), emit="final").count().to("stream-s")
    events.window(hr.tumbling("1 hour"), emit="final", close_after="10 seconds").count().to("own")
    quiet = stream(app, "others")
    quiet.window(hr.tumbling("1 hour"), emit="final").count().to("none")
    quiet.window(hr.session(gap="1 minute"), close_after="10 seconds").count().to("own-alone")
    assert silences(app) == {"stream-s": 60, "own": 10, "none": None, "own-alone": 10}
    assert [query.paced for query in app.queries()] == [True, True, False, True]


def test_a_window_of_windows_waits_for_itself_and_what_is_joined_goes_with_its_window() -> None:
    app = hr.App("a")
    events = stream(app)
    sessions = events.window(hr.session(gap="1 minute"), close_after="10 seconds").agg(n="count(*)")
    sessions.key_by("k").window(hr.tumbling("1 day"), emit="final").agg(n="sum(n)").to("days")
    rates = app.table("rates", key="k", schema="k string, rate int", lateness="1 second")
    sessions.key_by("k").join(rates, on="k", as_of="event_time").to("joined")
    assert silences(app) == {"cut": 10, "days": None, "joined": 10}


def test_windows_with_the_same_silence_stay_in_one_query() -> None:
    app = hr.App("a")
    sessions = stream(app, close_after="10 seconds").window(hr.session(gap="1 minute")).agg(n="count(*)")
    sessions.key_by("k").window(hr.tumbling("1 day"), emit="final", close_after="10 seconds").agg(n="sum(n)").to("days")
    assert silences(app) == {"days": 10}


def test_behind_a_cut_the_stream_s_silence_still_counts() -> None:
    app = hr.App("a")
    counts = stream(app, close_after="1 minute").window(hr.session(gap="1 minute")).agg(n="count(*)")
    hours = counts.key_by("k").window(hr.tumbling("1 hour"), emit="updates").agg(n="sum(n)")
    hours.changes().key_by("k").window(hr.tumbling("1 day"), emit="final").count().to("out")
    assert set(silences(app).values()) == {60}


def test_merged_windows_that_differ_are_each_closed_by_their_own_silence() -> None:
    app = hr.App("a")
    events = stream(app)
    short = events.window(hr.tumbling("1 minute"), emit="final", close_after="10 seconds").agg(n="count(*)")
    long = events.window(hr.tumbling("1 hour"), emit="final").agg(n="count(*)")
    short.merge(long).to("out")
    found = [(query.close_after, [source.label[:9] for source in query.sources]) for query in app.queries()]
    assert found == [(10 * SECOND, ["events"]), (None, ["events"]), (None, ["headrace.", "headrace."])]


def test_late_events_of_a_window_behind_a_cut_belong_to_that_window() -> None:
    app = hr.App("a")
    sessions = stream(app).window(hr.session(gap="1 minute"), close_after="10 seconds").agg(n="count(*)")
    days = sessions.select("k", "n").key_by("k").window(hr.tumbling("1 day"), emit="final", late="divert")
    days.agg(n="sum(n)").to("days")
    days.late.to("late")
    assert [len(query.late) for query in app.queries() if query.name == "days"] == [1]


def test_silence_needs_windows_that_close() -> None:
    with pytest.raises(PlanError) as caught:
        stream(hr.App("a"), lateness=None).window(hr.tumbling("1 hour"), close_after="10 seconds")
    assert caught.value.message == "close_after= has no effect on a stream without lateness="
    assert caught.value.fix == 'add lateness="10 seconds" to the stream'


def test_the_topology_says_what_silence_closes() -> None:
    app = hr.App("a")
    stream(app, close_after="1 minute").window(hr.session(gap="1 hour"), close_after="10 seconds").count().to("out")
    drawn = app.describe()
    assert "lateness 5 seconds, closed after 1 minute of silence)" in drawn
    assert "emit final, closed after 10 seconds of silence: count(*) as count" in drawn
