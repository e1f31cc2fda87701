"""Random histories of tables, many to a run: how they are fed, what the changes of a run must obey, and DuckDB's answer."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import duckdb
import pyarrow as pa

from headrace.testing import Driver

Row = dict[str, Any]
Tables = Mapping[str, Iterable[Row]]
HISTORIES = 100
_TYPES = {"string": pa.string(), "int": pa.int32(), "bigint": pa.int64(), "double": pa.float64(), "timestamp": pa.timestamp("us", "UTC")}


@dataclass(frozen=True, slots=True)
class Record:
    """A row that is fed to a topic, or, without a row, a delete of the key."""

    topic: str
    key: Any
    row: Row | None


def new_seed() -> int:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    return seed


def split(records: Sequence[Record], chance: random.Random, batches: int) -> list[list[Record]]:
    """The same records in batches of random sizes, some of them empty or small."""
    cuts = sorted(chance.randint(0, len(records)) for _ in range(batches - 1))
    return [list(records[begin:end]) for begin, end in zip([0, *cuts], [*cuts, len(records)], strict=True)]


def play(driver: Driver, batches: Sequence[Sequence[Record]], chance: random.Random) -> None:
    """Feeds the batches, some of them at once; dies after one in the middle and after the last."""
    crash = chance.randrange(len(batches) - 1)
    for number, batch in enumerate(batches):
        feed(driver, batch)
        driver.cut()
        if number == crash:
            driver.run().crash()
        elif chance.random() < 0.5:
            driver.run()
    driver.run().crash().run()


def feed(driver: Driver, records: Iterable[Record]) -> None:
    for (topic, deletes), group in groupby(records, key=lambda record: (record.topic, record.row is None)):
        if deletes:
            driver.delete(topic, *(record.key for record in group))
        else:
            driver.feed(topic, [record.row for record in group])


def newest(records: Iterable[Record], topic: str) -> list[Row]:
    """What a table is in the end: the last row of each key in the log."""
    rows = {str(record.key): record.row for record in records if record.topic == topic}
    return [row for row in rows.values() if row is not None]


def settled(driver: Driver, topic: str) -> list[Row]:
    """The rows that the changes of a topic end in. Each change must have changed something."""
    rows: dict[str | None, Row] = {}
    for number, (key, row) in enumerate(driver.changes(topic)):
        before = rows.get(key)
        assert row != before, f"{topic}: the change {number} of {key} changes nothing: {row}"
        if row is None:
            del rows[key]
        else:
            rows[key] = row
    assert rows == driver.table(topic), topic
    return list(rows.values())


def duck(sql: str, tables: Tables, schemas: Mapping[str, str]) -> list[Row]:
    """What DuckDB answers over these tables."""
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        for name, rows in tables.items():
            fields = [field.split() for field in schemas[name].split(", ")]
            connection.register(name, pa.Table.from_pylist(list(rows), pa.schema([(field, _TYPES[kind]) for field, kind in fields])))
        found = connection.execute(sql)
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def assert_same(found: Iterable[Row], expected: Iterable[Row], what: str) -> None:
    """The same rows, each as often."""
    left, right = Counter(map(_frozen, found)), Counter(map(_frozen, expected))
    assert left == right, "\n".join(_difference(left, right, what))


def _difference(found: Counter[str], expected: Counter[str], what: str) -> Iterator[str]:
    for sign, rows in (("is and should not be", found - expected), ("should be and is not", expected - found)):
        yield f"{what}: {rows.total()} rows of {(expected if sign[0] == 's' else found).total()} {sign}:"
        yield from sorted(rows)[:8]


def _frozen(row: Row) -> str:
    return repr(sorted(row.items()))
