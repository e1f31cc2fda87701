"""How long it must be quiet until open windows are closed: what a window says itself, or else what its streams say.

Windows close because the watermark moves, and a query has one watermark. So all that waits in a query is closed by the same
silence; where it differs, the plan is cut (`cuts.apart`).
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.plan import traits
from headrace.plan.nodes import Cut, Node, Read, inputs, query, reads


def of(node: Node) -> int | None:
    """The silence that closes a node, in microseconds; None if only events do.

    A window's own is for this window, and for what goes on with its rows: joins, for instance. The next window has its own
    again, or that of the streams.
    """
    facts = traits.of(node)
    if facts.window is not None or isinstance(node, Read | Cut):
        return of_streams(node) if facts.silence is None else facts.silence
    return longest(of(each) for each in inputs(node))


def of_streams(node: Node) -> int | None:
    """What the streams say that a node rests on."""
    return longest(read.close_after for read in reads(node))


def waiting(node: Node) -> tuple[Node, ...]:
    """The nodes of one query that may wait for the watermark: windows, and joins by time."""
    return tuple(each for each in query(node) if traits.waits(each))


def longest(silences: Iterable[int | None]) -> int | None:
    return max((silence for silence in silences if silence is not None), default=None)
