"""Windows, and when their results are emitted: what `stream.window(...)` takes."""

from __future__ import annotations

from typing import Literal, cast

from headrace.errors import PlanError, Where
from headrace.plan import checks, spelling
from headrace.plan.callsite import call_site
from headrace.plan.durations import Duration, micros
from headrace.plan.nodes import Every, Window

Unit = Literal["day", "week", "month"]
_DAY = 86_400_000_000
_LONGEST = {"day": _DAY + 3_600_000_000, "week": 7 * _DAY + 3_600_000_000, "month": 31 * _DAY + 3_600_000_000}
_MOST = 10_000


@spelling.arguments
def tumbling(size: Duration, *, offset: Duration = "0 seconds") -> Window:
    """Windows of one size, back to back: every event is in exactly one."""
    where = call_site().where
    length = micros(size, what="size", where=where)
    return Window("tumbling", length, length, micros(offset, what="offset", where=where, zero=True))


@spelling.arguments
def hopping(size: Duration, *, every: Duration, offset: Duration = "0 seconds") -> Window:
    """A window of `size` begins at each `every`: overlapping if every < size, with gaps between them if every > size."""
    where = call_site().where
    length, hop = micros(size, what="size", where=where), micros(every, what="every", where=where)
    _not_too_many(length // hop, where)
    return Window("hopping", length, hop, micros(offset, what="offset", where=where, zero=True))


@spelling.arguments
def sliding(size: Duration) -> Window:
    """For every event, the window of this size that ends with it, as for a moving average; emits again when an event leaves."""
    length = micros(size, what="size", where=call_site().where)
    return Window("sliding", length, length)


@spelling.arguments
def session(*, gap: Duration) -> Window:
    """Events of a key that follow each other within `gap`; it ends `gap` after its last event."""
    length = micros(gap, what="gap", where=call_site().where)
    return Window("session", length, length)


@spelling.arguments
def calendar(unit: Unit, *, zone: str = "UTC", offset: Duration = "0 seconds") -> Window:
    """Days, weeks (from Monday) or months of a time zone; with an offset of "6 hours" a day begins at six in the morning."""
    where = call_site().where
    checks.one_of("unit", unit, tuple(_LONGEST), where)
    shift = micros(offset, what="offset", where=where, zero=True)
    return Window("calendar", _LONGEST[unit], _LONGEST[unit], shift, unit, checks.zone(zone, where))


@spelling.arguments
def cumulating(
    size: Duration | Unit,
    *,
    every: Duration,
    zone: str = "UTC",
    offset: Duration = "0 seconds",
) -> Window:
    """Windows that begin together and end one after the other, at each `every`: the day's total every minute."""
    where = call_site().where
    unit = cast("Unit", size) if size in _LONGEST else None
    length = _LONGEST[unit] if unit else micros(size, what="size", where=where)
    step = micros(every, what="every", where=where)
    if step > length:
        raise PlanError("`every` is longer than the window", where=where, fix="make `every` shorter")
    _not_too_many(length // step, where)
    shift = micros(offset, what="offset", where=where, zero=True)
    return Window("cumulating", length, step, shift, unit, checks.zone(zone, where))


@spelling.arguments
def every(interval: Duration) -> Every:
    """`emit=hr.every("1 minute")`: the results so far at each full minute of event time, even for keys with nothing new."""
    return Every(micros(interval, what="interval", where=call_site().where))


def _not_too_many(windows: int, where: Where) -> None:
    if windows > _MOST:
        raise PlanError(f"each event would be in {windows:,} windows", where=where, fix="make `every` longer or `size` shorter")
