"""Window values: what `stream.window(...)` takes."""

from __future__ import annotations

from headrace.errors import PlanError
from headrace.plan.callsite import call_site
from headrace.plan.durations import Duration, micros
from headrace.plan.nodes import Window


def tumbling(size: Duration, *, offset: Duration = "0 seconds") -> Window:
    """Windows of one size, one after the other: every event is in exactly one."""
    where = call_site().where
    length = micros(size, what="size", where=where)
    return Window("tumbling", length, length, micros(offset, what="offset", where=where, zero=True))


def hopping(size: Duration, *, every: Duration, offset: Duration = "0 seconds") -> Window:
    """A window of `size` begins at each `every`: overlapping if every < size, with gaps between them if every > size."""
    where = call_site().where
    length, hop = micros(size, what="size", where=where), micros(every, what="every", where=where)
    if length // hop > 10_000:
        raise PlanError(
            f"each event would be in {length // hop:,} windows", where=where, fix="make `every` longer or `size` shorter"
        )
    return Window("hopping", length, hop, micros(offset, what="offset", where=where, zero=True))


def session(*, gap: Duration) -> Window:
    """Events of a key that follow each other within `gap`; it ends `gap` after its last event."""
    length = micros(gap, what="gap", where=call_site().where)
    return Window("session", length, length)
