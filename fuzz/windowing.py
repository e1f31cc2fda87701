"""What windows mean: which events are in which, which are late, and when a result comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from fuzz.clock import Clock
from fuzz.expressions import Row
from fuzz.histories import micros, moment
from fuzz.programs import SECOND, Window


@dataclass(frozen=True, slots=True)
class Event:
    row: Row
    time: int
    batch: int
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """A row of a window: which events it counts, and, if it is final, in which batch it became so."""

    key: tuple[Any, ...]
    start: int
    end: int
    events: tuple[Event, ...]
    final: bool
    batch: int
    at: int
    """The time of the row, if it goes on as an event: the last moment in the window."""


@dataclass(frozen=True, slots=True)
class Missed:
    event: Event
    start: int
    end: int
    by: float


def spans(window: Window, time: int) -> list[tuple[int, int]]:
    """The windows with fixed bounds that a time is in; of cumulating ones the period."""
    if window.unit is not None:
        return [_calendar(window, time)]
    if window.kind in ("tumbling", "cumulating"):
        start = time - (time - window.offset) % window.size
        return [(start, start + window.size)]
    last = time - (time - window.offset) % window.every
    found = []
    while last > time - window.size:
        found.append((last, last + window.size))
        last -= window.every
    return found


def _calendar(window: Window, time: int) -> tuple[int, int]:
    zone, offset = ZoneInfo(window.zone), timedelta(microseconds=window.offset)
    day = (moment(time).astimezone(zone).replace(tzinfo=None) - offset).replace(hour=0, minute=0, second=0, microsecond=0)
    match window.unit:
        case "day":
            first, next = day, day + timedelta(days=1)
        case "week":
            first = day - timedelta(days=day.weekday())
            next = first + timedelta(days=7)
        case _:
            first = day.replace(day=1)
            next = (first + timedelta(days=32)).replace(day=1)
    return tuple(micros((wall + offset).replace(tzinfo=zone).astimezone(UTC)) for wall in (first, next))  # type: ignore[return-value]


def _steps(window: Window, start: int, end: int) -> list[int]:
    """The ends of the cumulating windows of a period."""
    return [*range(start + window.every, end, window.every), end]


def missed(window: Window, events: Iterable[Event], clock: Clock) -> Iterator[Missed]:
    """What is late: an event, once for each window that was over when it came."""
    for event in events:
        mark = clock.late[event.batch]
        match window.kind:
            case "session":
                bounds = [(event.time, event.time + window.size)]
            case "sliding":
                bounds = [(event.time - window.size, event.time)]
            case "cumulating":
                ((start, end),) = spans(window, event.time)
                bounds = [(start, step) for step in _steps(window, start, end) if step > event.time]
            case _:
                bounds = spans(window, event.time)
        yield from (Missed(event, start, end, (mark - end) / SECOND) for start, end in bounds if end <= mark)


def results(
    window: Window, emit: str | int, by_key: dict[tuple[Any, ...], list[Event]], clock: Clock, gated: bool
) -> list[Result]:
    """The last row of each window, and of windows that come at intervals each row. Without `gated` nothing is late."""
    found: list[Result] = []
    for key, events in by_key.items():
        if isinstance(emit, int):
            found += _ticking(window, emit, key, events, clock, gated)
            continue
        match window.kind:
            case "session":
                found += _sessions(window, key, events, clock, gated)
            case "sliding":
                found += _sliding(window, key, events, clock, gated)
            case "cumulating":
                found += _cumulating(window, key, events, clock, gated)
            case _:
                found += _fixed(window, key, events, clock, gated)
    return found


def _late(clock: Clock, event: Event, end: int, gated: bool) -> bool:
    return gated and end <= clock.late[event.batch]


def _result(key: Any, start: int, end: int, events: Sequence[Event], clock: Clock, at: int | None = None) -> Result:
    batch = clock.ended(end, max(event.batch for event in events))
    return Result(key, start, end, tuple(events), batch is not None, batch or 0, end - 1 if at is None else at)


def _fixed(window: Window, key: Any, events: Sequence[Event], clock: Clock, gated: bool) -> Iterator[Result]:
    groups: dict[tuple[int, int], list[Event]] = {}
    for event in events:
        for start, end in spans(window, event.time):
            if not _late(clock, event, end, gated):
                groups.setdefault((start, end), []).append(event)
    for (start, end), inside in groups.items():
        yield _result(key, start, end, inside, clock)


def _cumulating(window: Window, key: Any, events: Sequence[Event], clock: Clock, gated: bool) -> Iterator[Result]:
    for start, end in sorted({spans(window, event.time)[0] for event in events}):
        for step in _steps(window, start, end):
            inside = [event for event in events if start <= event.time < step and not _late(clock, event, step, gated)]
            if inside:
                yield _result(key, start, step, inside, clock)


def _sliding(window: Window, key: Any, events: Sequence[Event], clock: Clock, gated: bool) -> Iterator[Result]:
    kept = [event for event in events if not _late(clock, event, event.time, gated)]
    for end in sorted({event.time + more for event in kept for more in (0, window.size)}):
        inside = [event for event in kept if end - window.size < event.time <= end]
        last = max(event.batch for event in kept if event.time == end or event.time + window.size == end)
        batch = clock.ended(end, last)
        yield Result(key, end - window.size, end, tuple(inside), batch is not None, batch or 0, end)


def _sessions(window: Window, key: Any, events: Sequence[Event], clock: Clock, gated: bool) -> Iterator[Result]:
    """Batch by batch: a session that is over takes no more events, and what comes later begins another."""
    gap = window.size
    open: list[list[Event]] = []
    for batch in range(len(clock.ends)):
        for event in events:
            if event.batch != batch or _late(clock, event, event.time + gap, gated):
                continue
            near = [one for one in open if _first(one) - gap <= event.time <= _last(one) + gap]
            open = [one for one in open if one not in near] + [[event, *(other for one in near for other in one)]]
        for one in [one for one in open if _last(one) + gap <= clock.ends[batch]]:
            open.remove(one)
            yield Result(key, _first(one), _last(one) + gap, tuple(one), True, batch, _last(one) + gap - 1)
    for one in open:
        yield Result(key, _first(one), _last(one) + gap, tuple(one), False, 0, 0)


def _first(session: Sequence[Event]) -> int:
    return min(event.time for event in session)


def _last(session: Sequence[Event]) -> int:
    return max(event.time for event in session)


def _ticking(window: Window, tick: int, key: Any, events: Sequence[Event], clock: Clock, gated: bool) -> Iterator[Result]:
    """At each multiple of the tick that the watermark passes, each open window as it was then; and each one at its end."""
    if window.kind == "session":
        yield from _ticking_sessions(window, tick, key, events, clock, gated)
        return
    known: int | None = None
    kept: list[Event] = []
    for batch in range(len(clock.ends)):
        for event in events:
            if event.batch == batch and any(not _late(clock, event, end, gated) for _, end in spans(window, event.time)):
                kept.append(event)
        while True:
            begins = [event.time for event in kept if known is None or event.time >= known]
            start = known if known is not None else min(begins, default=None)
            if start is None:
                break
            at = _next_moment(window, tick, start)
            if at > clock.ends[batch]:
                break
            idle = False
            for begin, end in spans(window, at - 1):
                if at % tick == 0 or at == end:
                    inside = [event for event in kept if begin <= event.time < at and not _late(clock, event, end, gated)]
                    yield Result(key, begin, end, tuple(inside), at == end, batch, at)
                    idle |= at == end and not inside
            still = [event for event in kept if event.time < at and any(end > at for _, end in spans(window, event.time))]
            known = at
            if idle and not still:
                # Forgotten, until its next event.
                kept = [event for event in kept if event.time >= at]
                known = None


def _next_moment(window: Window, tick: int, after: int) -> int:
    ends = [end for time in (after, after + 1) for _, end in spans(window, time) if end > after]
    if not ends:
        # Between windows with gaps: the end of the next one.
        ends = [after - (after - window.offset) % window.every + window.every + window.size]
    return min([(after // tick + 1) * tick, *ends])


def _ticking_sessions(
    window: Window, tick: int, key: Any, events: Sequence[Event], clock: Clock, gated: bool
) -> Iterator[Result]:
    gap = window.size
    open: list[list[Event]] = []
    waiting: list[Event] = []
    passed = 0
    for batch in range(len(clock.ends)):
        waiting += [event for event in events if event.batch == batch and not _late(clock, event, event.time + gap, gated)]
        while True:
            moments = [_last(one) + gap for one in open] + [event.time + gap for event in waiting]
            moments += [(max(passed, _first(one)) // tick + 1) * tick for one in open]
            moments += [(max(passed, event.time) // tick + 1) * tick for event in waiting]
            at = min((moment for moment in moments if moment > passed), default=None)
            if at is None or at > clock.ends[batch]:
                break
            for event in [event for event in waiting if event.time <= at]:
                # An event at the very end of a session goes on with it, and counts from the next moment on.
                if event.time == at and not any(_last(one) + gap == at for one in open):
                    continue
                waiting.remove(event)
                near = [one for one in open if _first(one) - gap <= event.time <= _last(one) + gap]
                open = [one for one in open if one not in near] + [[event, *(other for one in near for other in one)]]
            for one in list(open):
                start, end = _first(one), _last(one) + gap
                inside = tuple(event for event in one if event.time < at)
                if end <= at:
                    open.remove(one)
                    yield Result(key, start, end, inside, True, batch, at)
                elif at % tick == 0:
                    shown = _last(inside) + gap if inside else end
                    yield Result(key, start, shown, inside, False, batch, at)
            passed = at
