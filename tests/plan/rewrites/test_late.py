"""Late events: cut off from what follows, and known again where they are written."""

from __future__ import annotations

import headrace as hr
from headrace.plan.nodes import Cut, Node, TooLate, Write, walk
from headrace.plan.rewrites import cut, late


def program() -> tuple[hr.App, Write, Write]:
    app = hr.App("a")
    events = app.stream("in", schema="k string, v int, at timestamp", time="at", lateness="1 second").key_by("k")
    windowed = events.window(hr.tumbling("1 minute"), late="divert")
    windowed.count().to("counts")
    windowed.late.where("v > 1").to("late")
    counts, missed = app._writes  # pyright: ignore[reportPrivateUsage]
    return app, counts, missed


def of(kind: type[Node], write: Write) -> list[Node]:  # type: ignore[valid-type]
    return [node for node in walk(write.node) if isinstance(node, kind)]


def test_a_stream_of_late_events_is_cut_off_right_behind_it() -> None:
    _, counts, missed = program()
    assert late.rewrite("a", counts) == (counts,)
    (found,) = late.rewrite("a", missed)
    (between,) = of(Cut, found)
    (node,) = of(TooLate, found)
    assert isinstance(between, Cut)
    assert between.input is node
    assert (between.columns, between.key, between.where) == (node.columns, node.key, node.where)
    assert [type(each).__name__ for each in walk(found.node)] == ["Read", "KeyBy", "TooLate", "Cut", "Filter"]


def test_what_writes_late_events_is_known_by_its_node_and_the_query_by_its_windows() -> None:
    _, counts, missed = program()
    (rewritten,) = late.rewrite("a", missed)
    internal, user = cut.rewrite("a", rewritten)
    node = late.of(internal)
    assert node == of(TooLate, missed)[0]
    assert late.of(user) is None
    assert late.of(counts) is None
    assert node is not None
    assert late.computes(counts.node, node)
    assert not late.computes(internal.node, node)


def test_the_query_of_the_windows_writes_their_late_events() -> None:
    app, _, _ = program()
    windows, readers = app.queries()
    assert [write.to for write in windows.late] == [readers.sources[0].label]
    assert windows.writes == ("counts", readers.sources[0].label)
