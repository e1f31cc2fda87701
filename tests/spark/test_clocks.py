"""Where an event's time comes from, and which times are not believed."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import headrace as hr
from headrace.errors import BadRecord, PlanError
from headrace.testing import at

START = datetime(2024, 1, 1, 10, tzinfo=UTC)


def times(drive: Any, rows: list[dict[str, Any]], **source: Any) -> list[datetime]:
    """The events' times as the product has them."""
    app = hr.App("clocks")
    app.stream("events", **source).select("id", "_time as time").to("out")
    driver = drive(app).feed("events", rows).run()
    return [row["time"] for row in sorted(driver.rows("out"), key=lambda row: row["id"])]


def test_numbers_and_texts_are_times_in_the_unit_and_zone_they_are_said_to_be(drive: Any) -> None:
    moment = datetime(2024, 7, 1, 8, 30, 0, 250_000, tzinfo=UTC)
    micros = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    schema = "id int, s double, ms bigint, us bigint, text string, local string"
    row = {"id": 1, "s": micros / 1e6, "ms": micros // 1000, "us": micros}
    row |= {"text": "2024-07-01T10:30:00.250+02:00", "local": "2024-07-01 10:30:00.250"}
    for column, options in (("s", {"unit": "seconds"}), ("ms", {"unit": "millis"}), ("us", {"unit": "micros"})):
        assert times(drive, [row], schema=schema, time=hr.event_time(column, **options)) == [moment], column
    for column in ("text", "local"):
        assert times(drive, [row], schema=schema, time=hr.event_time(column, zone="Europe/Berlin")) == [moment], column


def test_a_text_that_is_no_time_is_a_bad_record(drive: Any) -> None:
    app = hr.App("bad")
    clock = hr.event_time("at", zone="Europe/Berlin")
    app.stream("events", schema="id int, at string", time=clock, bad="skip").select("id").to("out")
    driver = drive(app).feed("events", [{"id": 1, "at": "yesterday"}, {"id": 2, "at": "2024-01-01 10:00:00"}]).run()
    assert [row["id"] for row in driver.rows("out")] == [2]
    assert driver.total("out").bad == 1


@pytest.mark.parametrize("clock", [hr.log_append_time(), hr.processing_time(), None])
def test_the_log_s_and_the_processing_s_time_follow_the_test_s_clock(drive: Any, clock: Any) -> None:
    app = hr.App("append")
    stream = app.stream("events", schema="id int", time=clock, lateness="1 second")
    stream.window(hr.tumbling("1 minute"), emit="final").count().to("out")
    driver = drive(app).feed("events", [{"id": 1}], at="10:00:05").feed("events", [{"id": 2}], at="10:00:50").run()
    driver.feed("events", [{"id": 3}], at="10:01:00").run().advance("2 minutes")
    assert [(row["window_start"], row["count"]) for row in driver.rows("out")] == [(at("10:00:00"), 2), (at("10:01:00"), 1)]


@pytest.mark.parametrize("name", ["log", "processing"])
def test_a_time_column_may_have_any_name(drive: Any, name: str) -> None:
    assert times(drive, [{"id": 1, name: START}], schema=f"id int, {name} timestamp", time=name) == [START]


def test_device_clocks_that_are_wrong_drift_and_jump_are_corrected_up_to_the_delay_of_the_network(drive: Any) -> None:
    chance = random.Random(random.SystemRandom().randrange(2**32))
    rows: list[dict[str, Any]] = []
    truth: dict[int, tuple[datetime, timedelta]] = {}
    for device in range(20):
        wrong = timedelta(hours=chance.uniform(-30, 30))
        for _ in range(20):
            occurred = START + timedelta(seconds=chance.uniform(0, 3600))
            kept, delay = timedelta(seconds=chance.uniform(0, 600)), timedelta(seconds=chance.uniform(0, 2))
            # By this clock, which runs too fast by one in a thousand and now and then is set anew.
            wrong = timedelta(hours=chance.uniform(-30, 30)) if chance.random() < 0.2 else wrong
            drift = (occurred - START) / 1000
            number = len(rows)
            rows.append(
                {
                    "id": number,
                    "device": device,
                    "occurred": occurred + wrong + drift,
                    "sent": occurred + kept + wrong + drift + kept / 1000,
                    "received": occurred + kept + delay,
                }
            )
            truth[number] = (occurred, delay + kept / 1000)
    schema = "id int, device int, occurred timestamp, sent timestamp, received timestamp"
    clock = hr.device_clock(occurred="occurred", sent="sent", received="received", max_skew="31 hours")
    found = times(drive, rows, schema=schema, time=clock, lateness="1 minute")
    for number, time in enumerate(found):
        occurred, delay = truth[number]
        assert timedelta(0) - delay <= time - occurred <= delay, (number, time, occurred)


def test_how_wrong_a_device_s_clock_is_can_be_seen_and_too_wrong_is_bad(drive: Any) -> None:
    app = hr.App("skew")
    clock = hr.device_clock(occurred="occurred", sent="sent", max_skew="2 hours")
    stream = app.stream("events", schema="id int, occurred timestamp, sent timestamp", time=clock, bad="skip")
    stream.select("id", "_time as time", "_clock_offset as offset").to("out")
    driver = drive(app).feed("events", "id | occurred | sent\n1 | 08:59:50 | 09:00:00\n2 | 06:00:00 | 07:59:00", at="10:00:00")
    assert driver.run().rows("out") == [{"id": 1, "time": at("09:59:50"), "offset": 3600.0}]
    assert driver.total("out").bad == 1


def test_an_event_from_the_far_future_closes_nothing(drive: Any) -> None:
    app = hr.App("future")
    source = {"schema": "id int, at timestamp", "time": "at", "lateness": "10 seconds", "max_ahead": "1 minute"}
    stream = app.stream("events", **source, bad="skip")
    stream.window(hr.tumbling("1 minute"), emit="final").count().to("out")
    driver = drive(app)
    when = {"id": 1, "at": "2024-01-01T10:00:01Z"}
    driver.feed("events", [b'{"id":2,"at":"2031-01-01T00:00:00Z"}', str(when).replace("'", '"')], at="10:00:02").run()
    driver.feed("events", "id | at\n3 | 10:00:03").run()
    assert driver.rows("out") == []
    assert (driver.total("out").bad, driver.total("out").late) == (1, 0)
    driver.advance("2 minutes")
    assert [row["count"] for row in driver.rows("out")] == [2]


def test_an_unbelievable_time_stops_a_stream_that_takes_no_bad_records(drive: Any) -> None:
    app = hr.App("strict")
    app.stream("events", schema="id int, at timestamp", time="at", max_ahead="1 minute", bad="fail").select("id").to("out")
    with pytest.raises(BadRecord, match="more than 1 minute") as caught:
        drive(app).feed("events", [b'{"id":2,"at":"2031-01-01T00:00:00Z"}'], at="10:00:02").run()
    assert caught.value.where is not None


SCHEMA = "k string, n bigint, t string, at timestamp, d date"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda app: app.stream("t", schema=SCHEMA, time="n"), "the time column 'n' is a bigint, not a timestamp"),
        (lambda app: app.stream("t", schema=SCHEMA, time="t"), "the time column 't' is a string, not a timestamp"),
        (lambda app: app.stream("t", schema=SCHEMA, time="d"), "the time column 'd' is a date, not a timestamp"),
        (
            lambda app: app.stream("t", schema=SCHEMA, time=hr.event_time("at", unit="millis")),
            "the time column 'at' is a timestamp",
        ),
        (lambda app: app.stream("t", schema=SCHEMA, time=hr.event_time("n", unit="hours")), "unit='hours' is not known"),
        (
            lambda app: app.stream("t", schema=SCHEMA, time=hr.event_time("t", zone="Mars/Base")),
            "'Mars/Base' is not a time zone",
        ),
        (lambda app: app.stream("t", schema=SCHEMA, time=hr.device_clock(occurred="at", sent="gone")), "gone"),
        (
            lambda app: app.stream("t", schema=SCHEMA, close_after="1 minute"),
            "close_after= has no effect on a stream without lateness=",
        ),
        (lambda app: app.stream("t", schema=SCHEMA, time=12), "time=12 is not a clock"),
        (lambda app: hr.tumbling("-5 seconds"), "is not a duration"),
        (lambda app: hr.hopping("5 seconds", every="0 seconds"), "every='0 seconds' must be greater than zero"),
        (lambda app: hr.sliding("0 seconds"), "size='0 seconds' must be greater than zero"),
        (lambda app: hr.calendar("year"), "unit='year' is not known"),
        (lambda app: hr.cumulating("1 hour", every="2 hours"), "`every` is longer than the window"),
        (lambda app: hr.every("0 seconds"), "interval='0 seconds' must be greater than zero"),
        (
            lambda app: windowed(app, hr.tumbling("5 seconds"), emit="final"),
            "a final window needs to know how late",
        ),
        (
            lambda app: windowed(app, hr.sliding("5 seconds"), emit="updates"),
            "a sliding window needs to know how late events can be",
        ),
        (
            lambda app: windowed(app, hr.tumbling("5 seconds"), late="divert"),
            "late='divert' needs to know how late events can be",
        ),
        (lambda app: windowed(app, hr.tumbling("5 seconds"), late="later"), "late='later' is not known"),
        (lambda app: windowed(app, hr.tumbling("5 seconds"), emit="often"), "emit='often' is not known"),
        (
            lambda app: windowed(app, hr.cumulating("1 hour", every="1 minute"), emit="updates"),
            "a cumulating window emits its total",
        ),
        (lambda app: windowed(app, hr.tumbling("5 seconds")).late, "with late='drop' there is no stream of late events"),
    ],
)
def test_each_mistake_has_its_message_at_the_user_s_line(make: Any, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        make(hr.App("mistakes"))
    assert message in caught.value.message
    assert caught.value.where is not None
    assert caught.value.where.file.endswith("test_clocks.py")


def windowed(app: hr.App, window: Any, **options: Any) -> Any:
    return app.stream("t", schema=SCHEMA, time="at").key_by("k").window(window, **options)


def test_late_events_of_windows_that_nothing_is_made_of_are_refused() -> None:
    app = hr.App("unused")
    stream = app.stream("t", schema=SCHEMA, time="at", lateness="1 second").key_by("k")
    stream.window(hr.tumbling("5 seconds"), late="divert").late.to("late")
    with pytest.raises(PlanError) as caught:
        app.queries()
    assert "windows that no query computes" in caught.value.message
