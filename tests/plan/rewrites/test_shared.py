"""Shared reading: what both sides of a join are derived from, row by row."""

from __future__ import annotations

import headrace as hr
from headrace.plan.nodes import Lookup, Node, Read, walk
from headrace.plan.rewrites import shared

SCHEMA = "k string, v int, at timestamp"


def events(app: hr.App) -> hr.Stream:
    return app.stream("in", schema=SCHEMA, time="at", lateness="1 second")


def base(joined: hr.Stream, app: hr.App) -> Node | None:
    joined.to("out")
    (write,) = shared.rewrite("a", app._writes[-1])  # pyright: ignore[reportPrivateUsage]
    nodes = walk(write.node)
    (lookup,) = [node for node in nodes if isinstance(node, Lookup)]
    assert lookup.base is None or any(node is lookup.base for node in nodes)
    return lookup.base


def test_a_stream_joined_with_a_table_of_itself_is_read_once() -> None:
    app = hr.App("a")
    stream = events(app)
    table = stream.where("v > 1").key_by("k").as_table().select("k", w="v")
    assert isinstance(base(stream.select("k", "v").join(table, on="k"), app), Read)


def test_what_both_sides_go_through_is_computed_once() -> None:
    app = hr.App("a")
    some = events(app).where("v > 1")
    joined = some.join(some.as_table(key="k").select("k", w="v"), on="k")
    assert base(joined, app) is some._node  # pyright: ignore[reportPrivateUsage]


def test_sides_of_different_streams_have_nothing_to_share() -> None:
    app = hr.App("a")
    other = app.stream("other", schema=SCHEMA, time="at", lateness="1 second")
    assert base(events(app).join(other.as_table(key="k").select("k", w="v"), on="k"), app) is None


def test_a_side_that_looks_at_more_than_one_row_is_read_apart() -> None:
    app = hr.App("a")
    stream = events(app)
    first = stream.dedupe("k").as_table(key="k").select("k", w="v")
    assert base(stream.join(first, on="k"), app) is None
    app = hr.App("a")
    stream = events(app)
    words = stream.explode("array(v)", name="x").as_table(key="k").select("k", w="x")
    assert base(stream.join(words, on="k"), app) is None


def test_a_query_is_the_same_whether_its_sides_are_shared() -> None:
    """It decides how a query runs, not which query it is."""
    app = hr.App("a")
    stream = events(app)
    once = stream.join(stream.as_table(key="k").select("k", w="v"), on="k")
    twice = events(app).join(events(app).as_table(key="k").select("k", w="v"), on="k")
    once.to("once")
    twice.to("twice")
    (spec,) = app.queries()
    assert spec.topics == ("once", "twice")
