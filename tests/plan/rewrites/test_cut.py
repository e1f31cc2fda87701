"""Cuts: a topic in place of each, named after what is above, that carries the time of events and the key of tables."""

from __future__ import annotations

import headrace as hr
from headrace.plan import digest
from headrace.plan.clocks import Moment, Ours
from headrace.plan.nodes import Cut, Project, Read, Write, walk
from headrace.plan.rewrites import cut


def events(app: hr.App) -> hr.Stream:
    stream = app.stream("in", schema="k string, v int, at timestamp", time="at", lateness="1 second", close_after="1 minute")
    return stream.key_by("k")


def written(app: hr.App) -> list[Write]:
    return app._writes  # pyright: ignore[reportPrivateUsage]


def test_events_are_written_with_their_time_and_read_by_it() -> None:
    app = hr.App("a")
    minutes = events(app).window(hr.tumbling("1 minute"), emit="final").count()
    minutes.key_by("k").window(hr.tumbling("1 hour")).count().to("hours")
    internal, user = cut.rewrite("a", written(app)[0])
    (between,) = [node for node in walk(written(app)[0].node) if isinstance(node, Cut)]
    assert internal.internal
    assert internal.to == f"headrace.a.{digest.of(between.input)}" == internal.name
    assert isinstance(internal.node, Project)
    assert internal.node.columns == (*between.columns, cut.EVENT_TIME)
    (read,) = [node for node in walk(user.node) if isinstance(node, Read)]
    assert (read.label, read.clock, read.kind) == (internal.to, Moment(cut.EVENT_TIME), "stream")
    assert (read.columns, read.lateness, read.close_after) == (between.columns, 1_000_000, 60_000_000)
    assert (read.origin, read.bad) == (internal.node, "fail")


def test_a_table_is_written_as_it_is_and_read_by_its_key() -> None:
    app = hr.App("a")
    events(app).agg(total="sum(v)").where("total > 1").to("large")
    internal, user = cut.rewrite("a", written(app)[0])
    assert not isinstance(internal.node, Project)
    (read,) = [node for node in walk(user.node) if isinstance(node, Read)]
    assert (read.kind, read.key, read.clock) == ("table", ("k",), Ours.LOG)


def test_a_query_reads_a_topic_once_however_often_it_is_cut_there() -> None:
    app = hr.App("a")
    totals = events(app).agg(total="sum(v)")
    totals.where("total > 1").join(totals.where("total < 9").select("k", other="total"), on="k").to("both")
    internal, user = cut.rewrite("a", written(app)[0])
    assert len({id(node) for node in walk(user.node) if isinstance(node, Read)}) == 1
    assert internal.to in {node.label for node in walk(user.node) if isinstance(node, Read)}


def test_a_cut_above_a_cut_is_written_first() -> None:
    app = hr.App("a")
    minutes = events(app).window(hr.tumbling("1 minute"), emit="final").count()
    hours = minutes.key_by("k").window(hr.tumbling("1 hour")).count()
    hours.where("count > 1").to("busy")
    first, second, user = cut.rewrite("a", written(app)[0])
    reads = [[node.label for node in walk(write.node) if isinstance(node, Read)] for write in (first, second, user)]
    assert reads == [["in"], [first.to], [second.to]]


def test_what_is_not_cut_is_the_same_object() -> None:
    app = hr.App("a")
    events(app).where("v > 1").to("out")
    (write,) = written(app)
    assert cut.rewrite("a", write)[0].node is write.node
