"""Durations: "5 minutes", "1 hour 30 minutes" or a timedelta; inside, whole microseconds."""

from __future__ import annotations

import re
from datetime import timedelta

from headrace.errors import PlanError, Where

Duration = str | timedelta

_UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_LONGEST = 100_000 * _UNITS["day"]
_SHORT = {
    **dict.fromkeys(("us", "µs", "μs", "usec", "micro"), "microsecond"),
    **dict.fromkeys(("ms", "msec", "milli"), "millisecond"),
    **dict.fromkeys(("s", "sec"), "second"),
    **dict.fromkeys(("m", "min"), "minute"),
    **dict.fromkeys(("h", "hr"), "hour"),
    "d": "day",
    **dict.fromkeys(("w", "wk"), "week"),
}
_CALENDAR = re.compile(r"\s*\d+\s*(mon|quarter|y)[a-z]*\s*", re.IGNORECASE)
_DIFFER = {"mon": "months", "quarter": "quarters", "y": "years"}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Zµμ]+)")


def micros(value: Duration, *, what: str, where: Where, zero: bool = False) -> int:
    """The duration in microseconds; `what` names the argument in the error."""
    total = parse(value) if isinstance(value, str) else _micros_of(value)
    if total is None and isinstance(value, str) and (unit := _CALENDAR.fullmatch(value)):
        raise PlanError(
            f"{what}={value!r} is not a duration: {_DIFFER[unit[1].lower()]} differ in length",
            where=where,
            fix='for windows by the calendar write hr.calendar("month"); for a length, "30 days"',
        )
    if total is None:
        raise PlanError(
            f"{what}={value!r} is not a duration",
            where=where,
            fix='write "5 minutes", "1 hour 30 minutes", "250 ms" or a timedelta',
        )
    if total > _LONGEST:
        raise PlanError(f"{what}={value!r} is too long", where=where, fix="at most 100,000 days")
    if total < 0 or (total == 0 and not zero):
        raise PlanError(f"{what}={value!r} must be greater than zero", where=where, fix='write for example "5 minutes"')
    return total


def _micros_of(value: object) -> int | None:
    return round(value / timedelta(microseconds=1)) if isinstance(value, timedelta) else None


def parse(text: str) -> int | None:
    """The text in microseconds; None if it is not a duration."""
    position, total = 0, 0.0
    while match := _PART.match(text, position):
        typed = match[2].lower()
        unit = _SHORT.get(typed) or _SHORT.get(typed.removesuffix("s"), typed.removesuffix("s"))
        if unit not in _UNITS:
            return None
        total += float(match[1]) * _UNITS[unit]
        position = match.end()
    return round(total) if position and not text[position:].strip() else None


def text(value: int) -> str:
    """Back to words, the largest units first: 90_000_000 -> "1 minute 30 seconds"."""
    parts: list[str] = []
    for unit, size in sorted(_UNITS.items(), key=lambda item: -item[1]):
        count, value = divmod(value, size)
        if count:
            parts.append(f"{count} {unit}{'s' if count > 1 else ''}")
    return " ".join(parts) or "0 seconds"
