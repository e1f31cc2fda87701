"""Names of internal topics and descriptions of state, as they were: checkpoints and topics outlive the code that made them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import headrace as hr

EVENTS = "k string, v int, w double, at timestamp"


def stream(app: hr.App, topic: str = "events", lateness: str = "10 seconds", **options: object) -> hr.Stream:
    return app.stream(topic, schema=EVENTS, time="at", lateness=lateness, **options)  # type: ignore[arg-type]


def windows_of_windows(app: hr.App) -> None:
    minutes = stream(app).key_by("k").window(hr.tumbling("1 minute"), emit="final").agg(total="sum(v)", n="count(*)")
    minutes.key_by("k").window(hr.hopping("1 hour", every="10 minutes")).agg(most="max(total)").to("hours")
    minutes.where("n > 1").to("minutes")


def running_after_a_join(app: hr.App) -> None:
    left, right = stream(app, "left"), stream(app, "right").select("k", other="v * 2")
    joined = left.join(right, on="k", within="5 minutes", how="left")
    joined.key_by("k").agg(total="sum(v + other)").to("totals")


def late_streams(app: hr.App) -> None:
    windowed = stream(app).where("v > 0").key_by("k").window(hr.session(gap="30 seconds"), late="divert")
    windowed.count().to("sessions")
    windowed.late.select("k", "v", "late_by").to("late")
    windowed.late.key_by("k").count().to("late-counts")


def tables_of_aggregates(app: hr.App) -> None:
    totals = stream(app).key_by("k").agg(total="sum(v)").select("k", "total", large="total > 10")
    prices = app.table("prices", key="k", schema="k string, price decimal(10,2), version long", version="version")
    totals.join(prices, on="k", how="left").key_by("large").agg(worth="sum(total * price)").to("worth")
    totals.changes().where("op = 'update'").to("changes")
    totals.where("large").to("large")


def one_stream_on_both_sides(app: hr.App) -> None:
    events = stream(app)
    newest = events.where("v > 5").as_table(key="k", version="v")
    events.join(newest.select("k", top="v"), on="k", as_of="event_time", history="1 day", how="left").to("joined")


def several_silences(app: hr.App) -> None:
    quick, slow = stream(app, "quick", close_after="1 minute"), stream(app, "slow", close_after="1 hour")
    first = quick.key_by("k").window(hr.tumbling("1 minute"), emit="final").count()
    second = slow.key_by("k").window(hr.calendar("day", zone="Europe/Berlin"), emit="final", close_after="2 hours").count()
    first.merge(second).to("both")
    first.key_by("k").window(hr.sliding("10 minutes"), close_after="3 minutes").agg(n="sum(count)").to("slid")


@hr.udf("int")
def doubled(v: int) -> int:
    return v * 2


def every_other_verb(app: hr.App) -> None:
    clock = hr.device_clock(occurred="at", sent="at", max_skew="1 day")
    events = app.stream("devices", schema=EVENTS, time=clock, lateness="1 minute", bad="skip", max_ahead="1 hour")
    words = events.explode("split(k, ' ')", name="word").with_columns(twice="doubled(v)").dedupe("word", "v", within="1 hour")
    steps = words.key_by("word", d="date(at)").window(hr.cumulating("day", every="1 hour"), late="fail").agg(n="count(*)")
    steps.merge(steps.apply(lambda frame: frame)).key_by("word").agg(n="max(n)").to("most")
    ticks = words.key_by("word").window(hr.tumbling("1 hour", offset="5 minutes"), emit=hr.every("1 minute"))
    ticks.agg(n="count(*)").key_by("word").window(hr.tumbling("1 day"), emit="all").agg(n="sum(n)").to("days")


def from_an_offset(app: hr.App) -> None:
    source = hr.sources.kafka(["a", "b"], start="latest")
    events = app.stream(source, schema=EVENTS, time="at", lateness="0 seconds", key_format="json")
    minutes = events.key_by("k").window(hr.tumbling("1 minute"), emit="final").agg(total="sum(v)")
    minutes.key_by("k").agg(most="max(total)").to(hr.sinks.sqlite("/tmp/most.db", table="most"))


PROGRAMS: tuple[Callable[[hr.App], None], ...] = (
    windows_of_windows,
    running_after_a_join,
    late_streams,
    tables_of_aggregates,
    one_stream_on_both_sides,
    several_silences,
    every_other_verb,
    from_an_offset,
)

AS_BEFORE: dict[str, list[str]] = {
    "windows_of_windows": [
        "headrace.shop.f712913c49e6 (append): events -> headrace.shop.f712913c49e6",
        "  aggregate total=sum(v), n=count(*) by k over tumbling 1 minute, final of events",
        "hours (update): headrace.shop.f712913c49e6 -> hours",
        "  aggregate most=max(total) by k over hopping 1 hour every 10 minutes, updates of headrace.shop.f712913c49e6",
        "minutes (append): events -> minutes",
        "  aggregate total=sum(v), n=count(*) by k over tumbling 1 minute, final of events",
    ],
    "running_after_a_join": [
        "headrace.shop.30d2c709c7d3 (append): left, right -> headrace.shop.30d2c709c7d3",
        "  join left on k within 5 minutes of left, right",
        "totals (update): headrace.shop.30d2c709c7d3 -> totals",
        "  aggregate total=sum(v + other) by k of headrace.shop.30d2c709c7d3",
    ],
    "late_streams": [
        "sessions (append): events -> sessions, headrace.shop.076a45feca97",
        "  aggregate count=count(*) by k over session gap 30 seconds, final of events",
        "late (append): headrace.shop.076a45feca97 -> late",
        "late-counts (update): headrace.shop.076a45feca97 -> late-counts",
        "  aggregate count=count(*) by k of headrace.shop.076a45feca97",
    ],
    "tables_of_aggregates": [
        "headrace.shop.0a5481479527 (update): events -> headrace.shop.0a5481479527",
        "  aggregate total=sum(v) by k of events",
        "worth (update): headrace.shop.0a5481479527, prices -> worth",
        "  newest row by k of headrace.shop.0a5481479527",
        "  newest row by k of prices, version version",
        "  table join left on k of headrace.shop.0a5481479527, prices",
        "  table aggregate worth=sum(total * price) by large of headrace.shop.0a5481479527, prices",
        "changes (update): headrace.shop.0a5481479527 -> changes",
        "  newest row by k of headrace.shop.0a5481479527",
        "large (update): headrace.shop.0a5481479527 -> large",
        "  newest row by k of headrace.shop.0a5481479527",
    ],
    "one_stream_on_both_sides": [
        "joined (update): events -> joined",
        "  newest row by k, version v of events",
        "  lookup left on k as of event time for 1 day of events",
    ],
    "several_silences": [
        "headrace.shop.0cd8f1defb34 (append): quick -> headrace.shop.0cd8f1defb34",
        "  aggregate count=count(*) by k over tumbling 1 minute, final of quick",
        "headrace.shop.92d3ef475972 (append): slow -> headrace.shop.92d3ef475972",
        "  aggregate count=count(*) by k over each day in Europe/Berlin, final of slow",
        "both (append): headrace.shop.0cd8f1defb34, headrace.shop.92d3ef475972 -> both",
        "headrace.shop.f655ddff8bd4 (append): quick -> headrace.shop.f655ddff8bd4",
        "  aggregate count=count(*) by k over tumbling 1 minute, final of quick",
        "slid (update): headrace.shop.f655ddff8bd4 -> slid",
        "  aggregate n=sum(count) by k over sliding 10 minutes, final of headrace.shop.f655ddff8bd4",
    ],
    "every_other_verb": [
        "headrace.shop.38d581e505b0 (update): devices -> headrace.shop.38d581e505b0",
        "  dedupe word=split(k, ' '), v within 1 hour of devices",
        "  aggregate n=count(*) by word=split(k, ' '), d=date(at) over cumulating each day in UTC every 1 hour, final of devices",  # noqa: E501
        "most (update): headrace.shop.38d581e505b0 -> most",
        "  aggregate n=max(n) by word of headrace.shop.38d581e505b0",
        "days (update): devices -> days",
        "  dedupe word=split(k, ' '), v within 1 hour of devices",
        "  aggregate n=count(*) by word=split(k, ' ') over tumbling 1 hour offset 5 minutes, every 1 minute of devices",
        "  aggregate n=sum(n) by word over tumbling 1 day, all of devices",
    ],
    "from_an_offset": [
        "headrace.shop.8eb415b74ae2 (append): a, b -> headrace.shop.8eb415b74ae2",
        "  aggregate total=sum(v) by k over tumbling 1 minute, final of a, b",
        "sqlite.most (update): headrace.shop.8eb415b74ae2 -> sqlite.most",
        "  aggregate most=max(total) by k of headrace.shop.8eb415b74ae2",
    ],
}


def described(program: Callable[[hr.App], None]) -> list[str]:
    app = hr.App("shop")
    program(app)
    lines: list[str] = []
    for spec in app.queries():
        reads = ", ".join(source.label for source in spec.sources)
        lines.append(f"{spec.name} ({spec.mode}): {reads} -> {', '.join(spec.writes)}")
        lines += [f"  {shape}" for shape in spec.state]
    return lines


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_has_the_queries_topics_and_state_that_it_always_had(program: Callable[[hr.App], None]) -> None:
    assert described(program) == AS_BEFORE[program.__name__]
