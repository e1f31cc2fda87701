"""Clocks: where an event's time comes from. What `app.stream(..., time=...)` takes."""

from __future__ import annotations

from headrace.errors import PlanError
from headrace.plan import checks, spelling
from headrace.plan.callsite import call_site
from headrace.plan.durations import Duration, micros
from headrace.plan.nodes import Clock, Device, Moment, Ours, Unit


@spelling.arguments
def event_time(column: str, *, unit: Unit | None = None, zone: str = "UTC") -> Moment:
    """The time in the event itself, in a column that is a timestamp, a number of `unit`s since 1970, or ISO text.

    `zone` applies to text that has none.
    """
    where = call_site().where
    if unit is not None:
        checks.one_of("unit", unit, ("seconds", "millis", "micros"), where)
    return Moment(column, unit, checks.zone(zone, where))


@spelling.arguments
def log_append_time() -> Clock:
    """When the record was appended to the log. The topic must have message.timestamp.type=LogAppendTime."""
    return Ours.APPEND


@spelling.arguments
def record_time() -> Clock:
    """The record's timestamp, as its producer or the log has set it. This is the clock of a stream without `time=`."""
    return Ours.LOG


@spelling.arguments
def processing_time() -> Clock:
    """When the event is processed: that of its micro-batch."""
    return Ours.PROCESSING


@spelling.arguments
def device_clock(
    *,
    occurred: str | Moment,
    sent: str | Moment,
    received: str | Moment | None = None,
    max_skew: Duration | None = None,
) -> Device:
    """The time on a device whose clock may be wrong: occurred + (received - sent).

    The device says by its own clock when the event occurred and when it was sent; `received` is when your server received it
    (without it: when the log did, as with `log_append_time`). If the clock is wrong by more than `max_skew`, the record is
    bad. `_clock_offset` is how wrong it was, in seconds.
    """
    where = call_site().where
    for name, value in (("occurred", occurred), ("sent", sent), ("received", received)):
        if not isinstance(value, str | Moment | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise PlanError(f"{name}={value!r} is not a column", where=where, fix=f'write {name}="{name}_at"')
    return Device(
        occurred=_moment(occurred),
        sent=_moment(sent),
        received=None if received is None else _moment(received),
        max_skew=None if max_skew is None else micros(max_skew, what="max_skew", where=where),
    )


def _moment(value: str | Moment) -> Moment:
    return Moment(value) if isinstance(value, str) else value
