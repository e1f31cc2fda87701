"""When time goes on without events: by a clock that the test moves."""

from __future__ import annotations

from typing import Any

import headrace as hr
from headrace.plan.nodes import Read
from headrace.plan.queries import QuerySpec
from headrace.runtime.pace import Pace, still_open
from headrace.runtime.progress import Batch

SECOND = 1_000_000
SIZE, LATENESS = 60 * SECOND, 5 * SECOND


def spec(**options: Any) -> QuerySpec:
    """A minute's window over two topics."""
    app = hr.App("pace")
    source: dict[str, Any] = {"schema": "k string, at timestamp", "time": "at", "lateness": "5 seconds", **options}
    both = app.stream("a", **source).merge(app.stream("b", **source))
    both.key_by("k").window(hr.tumbling("1 minute"), emit="final").count().to("out")
    (found,) = app.queries()
    return found


def batch(**newest: int) -> Batch:
    return Batch(
        query="out",
        batch=0,
        in_per_second=1.0,
        out_per_second=0.0,
        lag=0,
        watermark=None,
        state_rows=0,
        millis=1,
        newest=newest,
    )


def by_topic(pulses: dict[Read, int]) -> dict[str, int]:
    return {source.label: time for source, time in pulses.items()}


def test_what_is_quiet_is_closed_up_to_the_end_of_the_last_window_and_no_further() -> None:
    pace = Pace(spec(close_after="10 seconds"), now=0)
    pace.note(batch(a=100 * SECOND, b=90 * SECOND), now=1 * SECOND)
    assert pace.pulses(10_900_000) == {}
    closed = 100 * SECOND + SIZE + LATENESS
    assert set(by_topic(pace.pulses(11 * SECOND)).values()) == {closed + 1000}
    assert set(by_topic(pace.pulses(1000 * SECOND)).values()) == {closed + 1000}
    pace.note(batch(a=101 * SECOND), now=1000 * SECOND)
    assert pace.pulses(1009 * SECOND) == {}


def test_a_run_that_heard_nothing_closes_what_an_earlier_one_left_open_and_does_so_once() -> None:
    watermark = 95 * SECOND
    pace = Pace(spec(close_after="10 seconds"), now=0)
    (closed,) = set(by_topic(pace.pulses(11 * SECOND, watermark)).values())
    # The newest event may have been up to 999 microseconds after the millisecond that the watermark tells.
    assert closed == watermark + LATENESS + 999 + SIZE + LATENESS + 1000
    # The next run finds the watermark where that pulse brought it: nothing is open.
    again = Pace(spec(close_after="10 seconds"), now=0)
    assert again.pulses(1000 * SECOND, closed - LATENESS, pulsed=True) == {}


def test_a_long_batch_is_no_silence() -> None:
    pace = Pace(spec(close_after="10 seconds", idle_after="2 seconds"), now=0)
    pace.note(batch(a=100 * SECOND, b=90 * SECOND), now=0)
    pace.wait(60 * SECOND)
    assert pace.pulses(61 * SECOND) == {}
    assert pace.pulses(70 * SECOND) != {}


def test_an_idle_topic_goes_on_with_the_others() -> None:
    pace = Pace(spec(idle_after="2 seconds"), now=0)
    pace.note(batch(a=10 * SECOND, b=10 * SECOND), now=0)
    pace.note(batch(a=300 * SECOND), now=1 * SECOND)
    assert pace.slowest() == "b"
    assert pace.pulses(1_500_000) == {}
    assert by_topic(pace.pulses(2 * SECOND)) == {"b": 300 * SECOND}
    # All of them idle: nobody says how late it is.
    assert pace.pulses(100 * SECOND) == {}


def test_a_folder_without_new_files_goes_on_with_the_topics() -> None:
    app, options = hr.App("pace"), {"schema": "k string, at timestamp", "time": "at", "lateness": "5 seconds"}
    files = app.stream(hr.sources.files("data"), idle_after="2 seconds", **options)
    topic = app.stream("a", **options)
    files.merge(topic).key_by("k").window(hr.tumbling("1 minute"), emit="final").count().to("out")
    (query,) = app.queries()
    assert query.paced
    pace = Pace(query, now=0)
    pace.note(batch(data=10 * SECOND, a=10 * SECOND), now=0)
    pace.note(batch(a=300 * SECOND), now=1 * SECOND)
    assert pace.slowest() == "data"
    assert by_topic(pace.pulses(2 * SECOND)) == {"data": 300 * SECOND}


def test_what_a_query_may_still_write_is_not_quiet() -> None:
    first = spec(close_after="10 seconds")
    pace = Pace(first, now=0)
    assert still_open([(first, pace)]) == set()
    pace.note(batch(a=100 * SECOND, b=90 * SECOND), now=1 * SECOND)
    assert still_open([(first, pace)]) == {"out"}
    assert pace.pulses(11 * SECOND)
    assert still_open([(first, pace)]) == set()
    pace.note(batch(a=200 * SECOND), now=12 * SECOND)
    assert still_open([(first, pace)]) == {"out"}


def test_a_topic_that_is_waited_for_keeps_no_other_from_being_idle() -> None:
    pace = Pace(spec(idle_after="2 seconds", close_after="3 seconds"), now=0)
    pace.note(batch(a=300 * SECOND, b=90 * SECOND), now=0)
    pace.wait(10 * SECOND, {"a"})
    assert by_topic(pace.pulses(10 * SECOND)) == {"b": 300 * SECOND}
    assert set(by_topic(pace.pulses(13 * SECOND))) == {"a", "b"}
