"""Where an event's time comes from: a column, a device's clock, the log's, ours."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

Unit = Literal["seconds", "millis", "micros"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A column that says a time: a timestamp, a number of `unit`s since 1970, or ISO text, in `zone` if it says none itself."""

    column: str
    unit: Unit | None = None
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Device:
    """The clock of a device, corrected by what it says when it sends: occurred + (received - sent)."""

    occurred: Moment
    sent: Moment
    received: Moment | None
    max_skew: int | None


class Ours(Enum):
    """A clock that is not the event's own.

    The record's timestamp, whoever set it; the same, set by the log; when it is processed.
    """

    LOG = "the log"
    APPEND = "the log's clock"
    PROCESSING = "processing"


Clock = Moment | Device | Ours
"""Where an event's time comes from."""


def clock_text(clock: Clock) -> str:
    match clock:
        case Moment():
            unit = f" in {clock.unit}" if clock.unit else ""
            return clock.column + unit + (f" in {clock.zone}" if clock.zone != "UTC" else "")
        case Device():
            received = clock_text(clock.received) if clock.received else "the log's time"
            return f"{clock_text(clock.occurred)} + {received} - {clock_text(clock.sent)}"
        case Ours():
            return f"of {clock.value}"
