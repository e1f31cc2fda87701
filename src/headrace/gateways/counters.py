"""Counts what happened to each record of a source. The counts add up at every moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Counters:
    """Counts of this run. A record that is read again after a failure counts once, and once more in `again`."""

    received: int = 0
    in_topic: int = 0
    buffered: int = 0
    """In the open transaction."""
    dropped: int = 0
    refused: int = 0
    """Too large for the topic: dead letters."""
    again: int = 0

    @property
    def closes(self) -> bool:
        return self.received == self.in_topic + self.buffered + self.dropped + self.refused


@dataclass(frozen=True, slots=True)
class Progress:
    name: str
    topic: str
    counters: Counters = Counters()
    position: Any = None
    lag: str | None = None
    rate: float = 0.0
    """Records per second written to the topic, since the last measurement."""

    def __str__(self) -> str:
        parts = [
            f"{self.counters.in_topic:,} records in {self.topic}",
            f"{self.rate:,.0f}/s",
            f"position {_short(self.position)}",
        ]
        if self.lag is not None:
            parts.append(self.lag)
        if self.counters.refused:
            parts.append(f"{self.counters.refused:,} too large")
        return f"source {self.name!r}: {', '.join(parts)}"


def _short(position: Any) -> str:
    text = repr(position)
    return text if len(text) <= 60 else text[:57] + "…"
