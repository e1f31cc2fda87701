"""What must come out, computed in plain Python from what was fed. Shares no code with the product."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from faults.events import Event


@dataclass
class Truth:
    """After some events: the copies (id -> twice), the sums (key -> count, total), the places of what can't be read, the
    ids of copies that are too large."""

    copies: dict[int, int] = field(default_factory=dict)
    sums: dict[str, tuple[int, int]] = field(default_factory=dict)
    poison: set[tuple[int, int]] = field(default_factory=set)
    oversized: set[int] = field(default_factory=set)
    offsets: Counter[int] = field(default_factory=Counter)

    def add(self, events: Iterable[Event]) -> None:
        for event in events:
            offset = self.offsets[event.partition]
            self.offsets[event.partition] += 1
            if event.poison:
                self.poison.add((event.partition, offset))
                continue
            n, total = self.sums.get(event.key, (0, 0))
            self.sums[event.key] = (n + 1, total + event.amount)
            if event.oversized:
                self.oversized.add(event.id)
            elif event.amount >= 0:
                self.copies[event.id] = event.amount * 2


@dataclass
class Found:
    """What came out, as a reader of committed records sees it, in order."""

    copies: list[tuple[str, int, int]] = field(default_factory=list)
    """Key, id, twice."""
    sums: dict[str, tuple[int, int]] = field(default_factory=dict)
    letters: list[tuple[str, int, int]] = field(default_factory=list)
    """Query, partition, offset."""
    oversized: list[int] = field(default_factory=list)
    """Ids of dead letters that were too large as copies."""
    open: list[str] = field(default_factory=list)
    """Partitions with a transaction that is not at its end."""


def violations(truth: Truth, found: Found) -> list[str]:
    """Every way in which what came out is wrong."""
    wrong: list[str] = []
    times = Counter(id for _, id, _ in found.copies)
    wrong += [f"copy {id} is lost" for id in truth.copies if id not in times]
    wrong += [f"copy {id} is there {count} times" for id, count in times.items() if count > 1]
    wrong += [f"copy {id} is wrong: {twice}" for _, id, twice in found.copies if truth.copies.get(id) != twice]
    last: dict[str, int] = {}
    for key, id, _ in found.copies:
        if id < last.get(key, -1):
            wrong.append(f"copy {id} of key {key} comes after {last[key]}")
        last[key] = id
    for key in truth.sums.keys() | found.sums.keys():
        if truth.sums.get(key) != found.sums.get(key):
            wrong.append(f"the sum of {key} is {found.sums.get(key)}, not {truth.sums.get(key)}")
    letters = Counter(found.letters)
    for query in ("copies", "sums"):
        for place in truth.poison:
            if letters.pop((query, *place), 0) != 1:
                wrong.append(f"the dead letter of {query} for {place} is not there once")
    wrong += [f"a dead letter of {letter} that was no poison" for letter in letters]
    kept = Counter(found.oversized)
    for id in truth.oversized | kept.keys():
        if kept[id] != (id in truth.oversized):
            wrong.append(f"the copy {id} that is too large is there {kept[id]} times")
    wrong += [f"a transaction is open in {place}" for place in found.open]
    return wrong
