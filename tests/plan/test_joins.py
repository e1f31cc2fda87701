"""Joins that are refused where they are written, and those of which every part is read once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headrace as hr
from headrace.errors import PlanError

TIMED: dict[str, Any] = {"time": "at", "lateness": "1 second"}


def calls(app: hr.App) -> hr.Stream:
    return app.stream("calls", schema="k string, x int, at timestamp", **TIMED)


def of_streams(**options: Any) -> hr.Stream:
    app = hr.App("streams")
    return calls(app).join(app.stream("others", schema="k string, y int", lateness="1 s"), on="k", within="1 minute", **options)


def with_table(**options: Any) -> hr.Stream:
    app = hr.App("table")
    return calls(app).join(app.table("names", key="k", schema="k string, name string"), on="k", **options)


def with_computed(**towns: Any) -> hr.Stream:
    app = hr.App("computed")
    people = app.table("people", key="k", schema="k string, town string, since timestamp", time="since", lateness="1 second")
    towns = {"key": "town", "schema": "town string, mayor string", **towns}
    return calls(app).join(people.join(app.table("towns", **towns), on="town"), on="k", as_of="event_time")


REFUSED: dict[str, tuple[Callable[[], object], str, str]] = {
    "streams as of event time": (
        lambda: of_streams(as_of="event_time"),
        "as_of= is for a join with a table, and this is a join of two streams",
        "leave as_of= out, or make the other stream a table: other.as_table(key=…)",
    ),
    "streams as of arrival": (
        lambda: of_streams(as_of="arrival"),
        "as_of= is for a join with a table, and this is a join of two streams",
        "leave as_of= out, or make the other stream a table: other.as_table(key=…)",
    ),
    "streams with a history": (
        lambda: of_streams(history="1 hour"),
        "history= is for a join with a table, and this is a join of two streams",
        "leave history= out, or make the other stream a table: other.as_table(key=…)",
    ),
    "streams with a version": (
        lambda: of_streams(with_version=True),
        "with_version= is for a join with a table, and this is a join of two streams",
        "leave with_version= out, or make the other stream a table: other.as_table(key=…)",
    ),
    "a table as of arrival with a history": (
        lambda: with_table(history="1 day"),
        "history= keeps the versions of a table's rows, and a join as of arrival needs only the newest",
        'add as_of="event_time", or leave history= out',
    ),
    "a computed table of which a part has no lateness": (
        lambda: with_computed(),
        "this join needs to know how late events can be, and the table 'towns' does not say",
        'add lateness="10 seconds" to the table',
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_join_can_not_do_is_refused_where_it_is_written(case: str) -> None:
    make, message, fix = REFUSED[case]
    with pytest.raises(PlanError) as caught:
        make()
    assert (caught.value.message, caught.value.fix) == (message, fix)
    assert caught.value.where is not None
    assert caught.value.where.file.endswith("test_joins.py")


def test_what_a_join_can_do_is_not() -> None:
    assert of_streams().columns == ("k", "x", "at", "y")
    assert with_table(as_of="arrival", with_version=True).columns == ("k", "x", "at", "name", "version")
    assert with_computed(lateness="1 second").columns == ("k", "x", "at", "town", "since", "mayor")


def test_a_table_that_a_query_reads_by_two_ways_is_one_source() -> None:
    app = hr.App("ways")
    windowed = calls(app).key_by("k").window(hr.tumbling("5 seconds")).agg(n="sum(x)")
    assert isinstance(windowed, hr.Table)
    windowed.join(windowed.key_by("k").agg(total="sum(n)"), on="k").to("shares")
    topics = {spec.name: [source.label for source in spec.sources] for spec in app.queries()}
    between = next(name for name in topics if name != "shares")
    assert topics == {between: ["calls"], "shares": [between]}
