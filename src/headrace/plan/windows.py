"""Windows as values: which events they hold, when their results are emitted, what is late for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NewType

from headrace.plan import durations

Late = Literal["drop", "divert", "fail"]


@dataclass(frozen=True, slots=True)
class Window:
    """Times in microseconds. Tumbling: every == size; hopping: any other `every`; session: `size` is the gap.

    Calendar windows have a unit and a zone; `size` is what they have at most. Cumulating ones have them if they start over
    each day, week or month, and `every` is their step.
    """

    kind: Literal["tumbling", "hopping", "session", "sliding", "calendar", "cumulating"]
    size: int
    every: int
    offset: int = 0
    unit: Literal["day", "week", "month"] | None = None
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Every:
    """Results at each multiple of the interval, in microseconds of event time."""

    interval: int


UpdatingWindow = NewType("UpdatingWindow", Window)
"""One that emits updates unless `emit` says otherwise: a type checker knows by it that the result is a table."""
FinalWindow = NewType("FinalWindow", Window)
"""One that emits final results unless `emit` says otherwise: a stream."""

Emit = Literal["updates", "final", "all"] | Every


def window_text(window: Window) -> str:
    match window.kind:
        case "tumbling":
            text = f"tumbling {durations.text(window.size)}"
        case "hopping":
            text = f"hopping {durations.text(window.size)} every {durations.text(window.every)}"
        case "session":
            text = f"session gap {durations.text(window.size)}"
        case "sliding":
            text = f"sliding {durations.text(window.size)}"
        case "calendar":
            text = f"each {window.unit} in {window.zone}"
        case "cumulating":
            period = f"each {window.unit} in {window.zone}" if window.unit else durations.text(window.size)
            text = f"cumulating {period} every {durations.text(window.every)}"
    return text + (f" offset {durations.text(window.offset)}" if window.offset else "")


def emit_text(emit: Emit) -> str:
    return f"every {durations.text(emit.interval)}" if isinstance(emit, Every) else emit
