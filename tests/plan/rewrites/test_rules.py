"""The rules together: their order, and that what the user wrote is left as it is."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
from headrace.plan import rewrites
from headrace.plan.nodes import Cut, Lookup, TooLate, walk
from headrace.plan.rewrites import cut, late, rewritten, shared


def test_late_events_are_cut_off_before_cuts_become_topics_and_sides_are_shared_in_what_is_left() -> None:
    assert (late.rewrite, cut.rewrite, shared.rewrite) == rewrites.RULES


def test_each_file_beside_the_fold_is_a_rule() -> None:
    files = {file.stem for file in Path(rewrites.__file__).parent.glob("*.py")} - {"__init__", "fold"}
    assert files == {rule.__module__.rpartition(".")[2] for rule in rewrites.RULES}


def test_a_program_without_cuts_late_streams_and_joins_is_left_alone() -> None:
    app = hr.App("a")
    app.stream("in", schema="v int").where("v > 1").to("out")
    (write,) = app._writes  # pyright: ignore[reportPrivateUsage]
    (same,) = rewritten("a", [write])
    assert same.node is write.node


def test_what_was_written_is_the_same_after_it_was_rewritten() -> None:
    app = hr.App("a")
    events = app.stream("in", schema="k string, v int, at timestamp", time="at", lateness="1 second").key_by("k")
    windowed = events.window(hr.tumbling("1 minute"), late="divert", emit="final")
    windowed.count().key_by("k").window(hr.tumbling("1 hour")).count().to("hours")
    windowed.late.join(events.as_table().select("k", w="v"), on="k").to("late")
    writes = tuple(app._writes)  # pyright: ignore[reportPrivateUsage]
    before = [walk(write.node) for write in writes]
    first, second = rewritten("a", writes), rewritten("a", writes)
    assert first == second
    assert [walk(write.node) for write in writes] == before
    assert any(isinstance(node, Cut) for nodes in before for node in nodes)
    assert any(isinstance(node, TooLate) for nodes in before for node in nodes)
    assert not any(isinstance(node, Cut) for write in first for node in walk(write.node))
    assert any(isinstance(node, Lookup) for write in first for node in walk(write.node))
