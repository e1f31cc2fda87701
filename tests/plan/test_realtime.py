"""What real-time mode refuses, without Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headrace as hr
from headrace.errors import PlanError
from headrace.plan import realtime
from headrace.stream import Stream
from headrace.table import Table


@hr.udf("int")
def twice(v: int) -> int:
    return v * 2


def clicks(app: hr.App, topic: str = "clicks") -> Stream:
    return app.stream(topic, schema="id long, page string, v int, at timestamp", time="at", lateness="10 seconds")


def other(stream: Stream) -> Stream:
    return clicks(stream._app, "others")  # pyright: ignore[reportPrivateUsage]


def pages(stream: Stream) -> Table:
    return stream._app.table("pages", key="page", schema="page string, title string", lateness="1 second")  # pyright: ignore[reportPrivateUsage]


RUNS: list[Callable[[Stream], Any]] = [
    lambda s: s.where("v > 1").select("id", "v * 2 as w"),
    lambda s: s.explode("split(page, '/')", name="part").key_by("part").count(),
    lambda s: s.key_by("page").window(hr.tumbling("5 seconds")).count(),
    lambda s: s.key_by("page").window(hr.hopping("10 seconds", every="5 seconds")).agg(most="max(v)").where("most > 3"),
    lambda s: s.dedupe("id"),
    lambda s: s.dedupe("id").key_by("page").count(),
    lambda s: s.merge(other(s)).key_by("page").count(),
    lambda s: s.apply(lambda frame: frame),
    lambda s: s.join(pages(s), on="page").where("v > 1"),
    lambda s: pages(s).key_by("title").agg(n="count(*)"),
]

REFUSED: list[tuple[str, Callable[[Stream], Any]]] = [
    ("a session window", lambda s: s.key_by("page").window(hr.session(gap="5 seconds")).count()),
    ('a window with emit="final"', lambda s: s.window(hr.tumbling("5 seconds"), emit="final").count()),
    ("a join of two streams", lambda s: s.join(other(s).drop("page", "v", "at"), on="id", within="5 seconds")),
    ("a join of two tables", lambda s: s.key_by("page").as_table().join(pages(s), on="page")),
    ("a join as of the event's time", lambda s: s.join(pages(s), on="page", as_of="event_time", history="1 hour")),
    ("a join with a table whose input keeps state", lambda s: s.dedupe("id").join(pages(s), on="page")),
    ("dedupe(within=…)", lambda s: s.dedupe("id", within="1 hour").where("v > 1")),
    ("the Python function twice()", lambda s: s.with_columns(w="twice(v)").where("w > 1")),
    ("a merge that reads the topic 'clicks' twice", lambda s: s.where("v > 1").merge(s.where("v < 0"))),
    ("a merge whose input keeps state", lambda s: s.dedupe("id").merge(other(s))),
]


@pytest.mark.parametrize("build", RUNS)
def test_what_runs_there_runs_in_update_mode(build: Callable[[Stream], Any]) -> None:
    app = hr.App("shop")
    build(clicks(app)).to("out")
    assert {spec.mode for spec in realtime.queries(app.queries())} == {"update"}


@pytest.mark.parametrize(("what", "build"), REFUSED, ids=[what for what, _ in REFUSED])
def test_what_cannot_run_there_is_named_at_its_line(what: str, build: Callable[[Stream], Any]) -> None:
    app = hr.App("shop")
    build(clicks(app)).to("out")
    with pytest.raises(PlanError) as caught:
        realtime.queries(app.queries())
    assert caught.value.message == f"{what} is not supported in real-time mode"
    assert caught.value.where is not None
    assert caught.value.where.file.endswith("test_realtime.py")
    assert "lambda s:" in caught.value.where.code
    assert caught.value.fix


def test_until_an_end_is_refused_before_anything_starts() -> None:
    app = hr.App("shop")
    clicks(app).to("out")
    with pytest.raises(PlanError) as caught:
        app.run(until="now", mode="realtime")
    assert caught.value.message == "real-time mode never ends, so it can't run until now"
    assert caught.value.fix == "leave one of the two out"
    with pytest.raises(PlanError) as caught:
        app.run(mode="fast")  # pyright: ignore[reportArgumentType]
    assert caught.value.message == "mode='fast' is not known"
    assert caught.value.fix == 'mode is "batches" or "realtime"'
