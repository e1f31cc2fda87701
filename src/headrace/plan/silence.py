"""How long it must be quiet until open windows are closed: what a window says itself, or else what its streams say.

Windows close because the watermark moves, and a query has one watermark. So all that waits in a query is closed by the same
silence; where it differs, the plan is cut (`cuts.apart`).
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.plan.nodes import Aggregate, Apply, Cut, Join, Lookup, Node, Read, inputs, query, walk


def of(node: Node) -> int | None:
    """The silence that closes a node, in microseconds; None if only events do.

    A window's own is for this window, and for what goes on with its rows: joins, for instance. The next window has its own
    again, or that of the streams.
    """
    match node:
        case Aggregate() if node.window is not None:
            return of_streams(node) if node.close_after is None else node.close_after
        case Read() | Cut():
            return of_streams(node)
        case _:
            return longest(of(each) for each in inputs(node))


def of_streams(node: Node) -> int | None:
    """What the streams say that a node rests on."""
    return longest(each.close_after for each in walk(node) if isinstance(each, Read))


def waiting(node: Node) -> tuple[Node, ...]:
    """The nodes of one query that may wait for the watermark: windows, and joins by time."""
    return tuple(each for each in query(node) if _waits(each))


def longest(silences: Iterable[int | None]) -> int | None:
    return max((silence for silence in silences if silence is not None), default=None)


def _waits(node: Node) -> bool:
    match node:
        case Aggregate():
            return node.window is not None
        case Join() | Apply():
            # What the function of apply() does is not known here.
            return True
        case Lookup():
            return node.as_of == "event_time"
        case _:
            return False
