"""What tables mean: every change of every row, in the order of the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fuzz.expressions import Row

Key = tuple[Any, ...]


class Undecided(Exception):
    """The answer depends on where batches end, as documented."""


@dataclass(frozen=True, slots=True)
class Change:
    order: tuple[int, ...]
    batch: int
    time: int
    key: Key
    before: Row | None
    after: Row | None


@dataclass(frozen=True, slots=True)
class Version:
    """A row as of a time, whether or not it was ever the newest."""

    order: tuple[int, ...]
    batch: int
    time: int
    version: int
    key: Key
    row: Row | None


@dataclass(slots=True)
class Table:
    changes: list[Change] = field(default_factory=list)
    versions: list[Version] = field(default_factory=list)
    """Of a topic and of newest events: all rows, because as of a time even what came out of order counts."""

    def rows(self) -> dict[Key, Row]:
        found: dict[Key, Row] = {}
        for change in self.changes:
            found.pop(change.key, None)
            if change.after is not None:
                found[change.key] = change.after
        return found


def newest(upserts: Iterable[Version], versioned: bool) -> Table:
    """The newest row of each key. An older version is skipped, also after a delete, which needs none."""
    table = Table(versions=list(upserts))
    rows: dict[Key, Row] = {}
    highest: dict[Key, int] = {}
    for upsert in table.versions:
        before = rows.get(upsert.key)
        if upsert.row is None:
            if before is None:
                continue
            del rows[upsert.key]
        else:
            if versioned and upsert.version < highest.get(upsert.key, upsert.version):
                continue
            highest[upsert.key] = upsert.version
            rows[upsert.key] = upsert.row
        table.changes.append(Change(upsert.order, upsert.batch, upsert.time, upsert.key, before, upsert.row))
    return table


def mapped(table: Table, function: Callable[[Row], Row | None]) -> Table:
    def each(row: Row | None) -> Row | None:
        return None if row is None else function(row)

    changes = [Change(c.order, c.batch, c.time, c.key, each(c.before), each(c.after)) for c in table.changes]
    return Table(changes)


def grouped(table: Table, key: Sequence[str], result: Callable[[Sequence[Row]], Row]) -> Table:
    """Aggregates over the rows that are there. A group without rows is gone, but for that of the whole table."""
    if not key and not _begins(table):
        raise Undecided
    found = Table()
    groups: dict[Key, dict[Key, Row]] = {}
    told: dict[Key, Row] = {}
    for change in table.changes:
        touched: list[Key] = []
        for row, add in ((change.before, False), (change.after, True)):
            if row is None:
                continue
            group = tuple(row[name] for name in key)
            touched += [group] if group not in touched else []
            if add:
                groups.setdefault(group, {})[change.key] = row
            else:
                groups[group].pop(change.key)
        for number, group in enumerate(touched):
            rows = list(groups[group].values())
            before, after = told.get(group), None
            if rows or not key:
                after = {**dict(zip(key, group, strict=True)), **result(rows)}
            found.changes.append(Change((*change.order, number), change.batch, change.time, group, before, after))
            told.pop(group, None)
            if after is not None:
                told[group] = after
    return found


def _begins(table: Table) -> bool:
    """Whether the first batch with rows leaves some. The row of a whole table is there from the first batch on that does."""
    changes = [change for change in table.changes if change.before is not None or change.after is not None]
    rows: set[Key] = set()
    for change in changes:
        if change.batch == changes[0].batch:
            (rows.discard if change.after is None else rows.add)(change.key)
    return not changes or bool(rows)


def joined(
    left: Table,
    right: Table,
    on: Mapping[str, str],
    how: str,
    key: Sequence[str],
    columns: tuple[Sequence[str], Sequence[str]],
) -> Table:
    """The join as it is after each change of either side, and what that changed."""
    found = Table()
    sides: tuple[dict[Key, Row], dict[Key, Row]] = ({}, {})
    told: dict[Key, Row] = {}
    steps = [(change, 0) for change in left.changes] + [(change, 1) for change in right.changes]
    for change, side in sorted(steps, key=lambda step: (step[0].order, step[1])):
        sides[side].pop(change.key, None)
        if change.after is not None:
            sides[side][change.key] = change.after
        pairs = _pairs(list(sides[0].values()), list(sides[1].values()), on, how, columns)
        now = {tuple(row[name] for name in key): row for row in pairs}
        for number, known in enumerate(dict.fromkeys([*told, *now])):
            if told.get(known) != now.get(known):
                order = (*change.order, number)
                found.changes.append(Change(order, change.batch, change.time, known, told.get(known), now.get(known)))
        told = now
    return found


def _pairs(
    lefts: Sequence[Row], rights: Sequence[Row], on: Mapping[str, str], how: str, columns: tuple[Sequence[str], Sequence[str]]
) -> list[Row]:
    mine, theirs = columns
    found: list[Row] = []
    alone = list(rights)
    for left in lefts:
        partners = [right for right in rights if all(left[a] is not None and left[a] == right[b] for a, b in on.items())]
        alone = [right for right in alone if right not in partners]
        found += [{**left, **{name: right[name] for name in theirs}} for right in partners]
        if not partners and how in ("left", "full"):
            found.append({**left, **dict.fromkeys(theirs)})
    if how == "full":
        for right in alone:
            row = {**dict.fromkeys(mine), **{name: right[name] for name in theirs}}
            found.append({**row, **{a: right[b] for a, b in on.items()}})
    return found
