"""What the store keeps of a view: rows, changes, commits, and how far it is; and their bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from headrace.errors import HeadraceError

PLACE = struct.Struct(">qIQ")
ROW = PLACE.size
CHANGE = struct.Struct(">qHi")

Place = tuple[int, ...]


class Expired(HeadraceError):
    """What is asked for was kept, and is not any more."""


class Row(NamedTuple):
    """A row as it came: its value as the record had it, and where and when (milliseconds) that was."""

    value: bytes
    time: int
    partition: int
    offset: int


class Change(NamedTuple):
    """`before` is None for a row that was not there, `after` for one that is deleted; `place` is just behind it."""

    key: bytes
    before: bytes | None
    after: bytes | None
    time: int
    place: Place


@dataclass(frozen=True, slots=True)
class State:
    """How far a view is. `oldest` is the commit before the first change that is kept: from there on one can go on."""

    commit: int = 0
    place: Place = ()
    time: int = 0
    oldest: int = 0
    oldest_place: Place = ()
    oldest_time: int = 0
    filled: bool = False
    """Whether all has come that was in the topic when the view began: before that it is not to be read."""
    topic_id: str = ""
    sources: Mapping[str, Place] = field(default_factory=dict[str, Place])
    """By topic, how far the application had read when it wrote this; empty where nobody knows."""

    def json(self) -> bytes:
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @staticmethod
    def parse(text: bytes) -> State:
        found: dict[str, Any] = json.loads(text)
        found |= {name: tuple(found[name]) for name in ("place", "oldest_place")}
        found["sources"] = {topic: tuple(place) for topic, place in found["sources"].items()}
        return State(**found)


class Commit(NamedTuple):
    """`place` is where the view was after it, `since` before it; `time` never goes back."""

    time: int
    since: Place
    place: Place
    changes: int


def padded(place: Sequence[int], width: int) -> Place:
    return (*place, *((0,) * (width - len(place))))


def later(a: Place, b: Place) -> Place:
    width = max(len(a), len(b))
    return tuple(map(max, padded(a, width), padded(b, width)))


def beyond(place: Place, after: Place) -> bool:
    width = max(len(place), len(after))
    return any(a > b for a, b in zip(padded(place, width), padded(after, width), strict=True))


def row_of(stored: bytes) -> Row:
    time, partition, offset = PLACE.unpack_from(stored)
    return Row(stored[ROW:], time, partition, offset)


def change_of(stored: bytes, place: Place) -> Change:
    time, length, before = CHANGE.unpack_from(stored)
    at = CHANGE.size + length
    key = stored[CHANGE.size : at]
    end = at + max(before, 0)
    return Change(
        key,
        stored[at + ROW : end] if before >= 0 else None,
        stored[end + 1 :] if len(stored) > end else None,
        time,
        place,
    )


def commit_of(text: bytes) -> Commit:
    when, since, place, changes = json.loads(text)
    return Commit(when, tuple(since), tuple(place), changes)


def moment(millis: int) -> str:
    """As people read it."""
    return datetime.fromtimestamp(millis / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
