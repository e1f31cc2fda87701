"""Random histories: what comes into the topics, when, and where batches end. Times are in microseconds."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from fuzz.programs import SECOND, Node

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KEYS = ("a", "b", "c", "d")
GROUPS = ("red", "green", "blue", None)
DAY = 86_400 * SECOND
FAR = 200 * DAY
"""Longer than anything waits."""


def moment(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def micros(when: datetime) -> int:
    return (when - EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a topic; without a row it deletes the row of its key. `logged` is its time in the log."""

    topic: str
    row: Mapping[str, Any] | None
    key: str | None
    time: int
    logged: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """Between two parts of a history all that was fed is processed, however it is cut. Then time may move without an event.

    `to` is that time. With `quiet` it has been so quiet that windows are closed.
    """

    to: int | None = None
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class History:
    parts: tuple[tuple[Record, ...], ...]
    barriers: tuple[Barrier, ...]
    """One behind each part."""

    @property
    def records(self) -> list[Record]:
        return [record for part in self.parts for record in part]


@dataclass(frozen=True, slots=True)
class Cuts:
    """For each part, how many records each batch has; and after which parts the run crashes, or ends and starts again."""

    sizes: tuple[tuple[int, ...], ...]
    crashes: frozenset[int]
    restarts: frozenset[int] = frozenset()

    def batches(self, history: History, part: int) -> list[Sequence[Record]]:
        found: list[Sequence[Record]] = []
        begin = 0
        for size in self.sizes[part]:
            found.append(history.parts[part][begin : begin + size])
            begin += size
        return [batch for batch in [*found, history.parts[part][begin:]] if batch]


def cuts(chance: random.Random, history: History, most: int, crash: bool) -> Cuts:
    sizes: list[tuple[int, ...]] = []
    for part in history.parts:
        places = sorted(chance.randint(0, len(part)) for _ in range(chance.randint(0, most)))
        sizes.append(tuple(end - begin for begin, end in zip([0, *places], places, strict=False)))
    crashes = frozenset([chance.randrange(len(history.parts))] if crash else [])
    return Cuts(tuple(sizes), crashes)


def whole(history: History) -> Cuts:
    """Each part is one batch."""
    return Cuts(tuple(() for _ in history.parts), frozenset())


def history(
    chance: random.Random,
    sources: Sequence[Node],
    unit: int,
    closings: Sequence[int],
    *,
    tame: bool,
    size: int,
    open: bool = False,
) -> History:
    """Records of these topics. In a `tame` one no cut makes a difference to which events are late.

    That is so because what is older than `lateness` comes first in its part: it is judged by the watermark at the barrier
    before, wherever the first batch ends, since old events don't move it. All others are within `lateness` of the newest.
    An `open` one ends with its last event: what is then not over stays open. `closings` are the silences that close windows.
    """
    lateness = {node["topic"]: node.options.get("lateness") or unit for node in sources}
    day = chance.choice(["2024-01-01 10:00", "2024-03-30 20:00", "2024-02-29 12:00", "2024-10-26 18:00"])
    now = micros(datetime.fromisoformat(day).replace(tzinfo=UTC))
    logged, number = now, 0
    newest = {node["topic"]: now for node in sources}
    parts: list[tuple[Record, ...]] = []
    barriers: list[Barrier] = []
    count = chance.choice([1, 1, 1, 2])
    for index in range(count):
        part: list[Record] = []
        for position in range(size // count):
            source = chance.choices(sources, weights=[4 if node.kind == "stream" else 2 for node in sources])[0]
            topic = source["topic"]
            old = position < 4 and index > 0 and chance.random() < 0.5 if tame else chance.random() < 0.12
            # What a row that comes too late changes of a table's past is not said.
            old = old and source.kind == "stream"
            if old:
                time = newest[topic] - chance.randint(0, 4 * lateness[topic])
                time = min(time, newest[topic])
            else:
                now += _step(chance, unit)
                back = chance.random() < 0.4
                # Times within the bound by more than a millisecond, which is how finely a watermark is told.
                time = max(now - chance.randint(0, lateness[topic]), newest[topic] - lateness[topic] + 1_001) if back else now
                if chance.random() < 0.3:
                    # Whole units: ties, and times on the very bounds of windows.
                    time = max(time // unit * unit, newest[topic] - lateness[topic] + 1_001)
                    time = time // 1_000 * 1_000 if time % unit else time
            if not tame and chance.random() < 0.05:
                time = newest[topic] - lateness[topic]
            number += 1
            logged = max(logged + 1_000, time)
            part.append(_record(chance, source, number, time, logged))
            newest[topic] = max(newest[topic], part[-1].time)
            if chance.random() < 0.08 and source.kind == "stream":
                # The same again: a duplicate.
                logged += 1_000
                part.append(_again(part[-1], logged))
        parts.append(tuple(part))
        last = index == count - 1
        if not open and (last or chance.random() < 0.3):
            after = FAR if last else chance.randint(1, 30) * unit
            if closings and chance.random() < 0.7:
                after = chance.choice(closings) + chance.randint(0, 2) * unit
            to = max(now, logged) + after
            # How far silence has moved the time of which query is left open: what comes next is later than all of it.
            quiet = any(after >= silence for silence in closings)
            barriers.append(Barrier(to, quiet))
            now = logged = to + (FAR if quiet else 0)
            newest = {topic: max(time, now) for topic, time in newest.items()}
        else:
            barriers.append(Barrier())
    return History(tuple(parts), tuple(barriers))


def _step(chance: random.Random, unit: int) -> int:
    match chance.randrange(6):
        case 0:
            return 0
        case 1:
            return chance.randint(1, 2_000)
        case 2:
            return chance.randint(1, unit)
        case 3:
            return chance.randint(0, 3) * unit
        case 4:
            return chance.randint(0, 4 * unit)
        case _:
            return unit // 2


def _record(chance: random.Random, source: Node, number: int, time: int, logged: int) -> Record:
    match source["topic"]:
        case "things":
            key = chance.choice(KEYS)
            row: dict[str, Any] | None = {
                "id": key,
                "color": chance.choice(GROUPS),
                "size": chance.choice([None, *range(-2, 8)]),
                "rev": max(0, number + chance.randint(-6, 0)) if source.options.get("version") else number,
                "m": number,
                "since": moment(time),
            }
        case "colors":
            key = chance.choice([*(color for color in GROUPS if color), "black"])
            row = {"name": key, "rank": chance.randint(0, 4), "c": number}
        case _:
            key = None
            row = {
                "k": chance.choice(KEYS),
                "g": chance.choice(GROUPS),
                "v": chance.choice([None, *range(-4, 12)]),
                "w": chance.choice([None, *(n / 4 for n in range(-8, 20))]),
                "n": number,
                "tags": chance.choice([None, [], ["red"], ["red", "blue"], ["x", "x", "y"]]),
                "at": moment(time),
            }
    if key is not None and chance.random() < 0.15:
        row, time = None, logged
    if key is not None and source.options.get("time") is None:
        time = logged
    return Record(source["topic"], row, key, time, logged)


def _again(record: Record, logged: int) -> Record:
    return Record(record.topic, record.row, record.key, record.time, logged)
