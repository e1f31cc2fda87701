"""`hr.sources.kafka`: what it takes, and what it refuses at the user's line."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

import headrace as hr
from headrace.errors import PlanError
from headrace.sources.kafka import At, Kafka, Offsets

NOON = 1_769_860_800_000_000
SCHEMA = "k string, v int"


def test_a_name_is_short_for_a_topic_of_kafka() -> None:
    def app(source: str | Kafka) -> hr.App:
        made = hr.App("a")
        made.stream(source, schema=SCHEMA).to("out")
        return made

    assert app("t").queries() == app(hr.sources.kafka("t")).queries()
    assert app("t").describe() == app(hr.sources.kafka("t")).describe()


@pytest.mark.parametrize(
    ("start", "found"),
    [
        ("latest", "latest"),
        ("2026-01-31 12:00", At(NOON)),
        ("2026-01-31T13:00+01:00", At(NOON)),
        (datetime(2026, 1, 31, 12, tzinfo=UTC), At(NOON)),
        (datetime(2026, 1, 31, 14, tzinfo=timezone(timedelta(hours=2))), At(NOON)),
        ({1: 7, 0: 12}, Offsets((("t", 0, 12), ("t", 1, 7)))),
        ({"t": {0: 12}}, Offsets((("t", 0, 12),))),
    ],
)
def test_a_start_is_a_word_a_time_or_offsets(start: object, found: object) -> None:
    assert hr.sources.kafka("t", start=start).start == found  # type: ignore[arg-type]
    app = hr.App("a")
    app.stream("t", schema=SCHEMA, start=start).to("out")  # type: ignore[arg-type]
    (source,) = app.queries()[0].sources
    assert source.source == Kafka(topics=("t",), start=found)  # type: ignore[arg-type]


REFUSED: dict[str, tuple[Callable[[], object], str, str]] = {
    "nothing": (lambda: hr.sources.kafka(), "kafka() takes either a topic or a pattern", 'kafka("trades")'),
    "both": (lambda: hr.sources.kafka("t", pattern="t.*"), "kafka() takes either a topic or a pattern", 'kafka("trades")'),
    "no topics": (lambda: hr.sources.kafka([]), "needs a topic", 'kafka("trades")'),
    "a bad name": (lambda: hr.sources.kafka(["t", "a b"]), "'a b' is not a valid topic name", "letters"),
    "one twice": (lambda: hr.sources.kafka(["t", "t"]), "'t' is named twice", "once"),
    "a bad pattern": (lambda: hr.sources.kafka(pattern="t("), "'t(' is not a regular expression", 'pattern="trades-.*"'),
    "a bad word": (lambda: hr.sources.kafka("t", start="newest"), "start='newest' is not known", '"latest"'),
    "a bad offset": (lambda: hr.sources.kafka("t", start={0: -1}), "{0: -1} is not a partition and an offset", "0 or more"),
    "no offset": (lambda: hr.sources.kafka("t", start={}), "start= names no offset", "start={0: 1200}"),
    "another topic's": (lambda: hr.sources.kafka("t", start={"u": {0: 1}}), "the topic 'u', which is not read", "it reads: t"),
    "offsets of several": (
        lambda: hr.sources.kafka(["t", "u"], start={0: 1}),
        "with several topics, offsets are per topic",
        '{"trades": {0: 1200}}',
    ),
    "a pattern with flags": (
        lambda: hr.sources.kafka(pattern="(?i)trades-.*"),
        "is not a regular expression: global flags not at the start",
        'pattern="trades-.*"',
    ),
    "a start beside a source": (
        lambda: hr.App("a").stream(hr.sources.kafka("t"), schema=SCHEMA, start="latest"),
        "start= is an option of the source",
        "hr.sources.kafka(…, start=…)",
    ),
    "no source": (lambda: hr.App("a").stream(7, schema=SCHEMA), "not int", "app.stream("),  # type: ignore[arg-type]
    "a table of several": (
        lambda: hr.App("a").table(hr.sources.kafka(["t", "u"]), schema=SCHEMA, key="k"),
        "whose records have no common order",
        "version=",
    ),
    "a table from a start": (
        lambda: hr.App("a").table(hr.sources.kafka("t", start="latest"), schema=SCHEMA, key="k"),
        "would lack the rows",
        "leave start= out",
    ),
    "a table with headers": (
        lambda: hr.App("a").table(hr.sources.kafka("t", headers=True), schema=SCHEMA, key="k"),
        "headers=True is for streams",
        "leave it out",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_not_be_read_is_refused_at_the_users_line(case: str) -> None:
    make, message, fix = REFUSED[case]
    with pytest.raises(PlanError) as refused:
        make()
    assert message in refused.value.message
    assert fix in (refused.value.fix or "")
    assert refused.value.where is not None
    assert refused.value.where.file.endswith("test_kafka.py")


def test_a_pattern_matches_whole_names_and_never_topics_of_headrace_or_kafka() -> None:
    source = hr.sources.kafka(pattern=".*trades.*|b")
    assert source.reads("trades-de")
    assert source.reads("b")
    assert not source.reads("bb")
    assert not source.reads("headrace.trades.dead")
    assert not source.reads("__trades")


def test_a_query_that_writes_what_its_pattern_matches_is_refused() -> None:
    app = hr.App("a")
    app.stream(hr.sources.kafka(pattern="trades.*"), schema=SCHEMA).to("trades-all")
    with pytest.raises(PlanError, match="endless loop"):
        app.queries()
