"""The store of views against a plain dictionary, over random histories."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from headrace.serve import keys
from headrace.serve.records import Change, Expired, Place, Row
from headrace.serve.store import Reader, Writer
from headrace.serve.view import View

PARTITIONS = 3
TABLE = View(name="balances", topic="t", kind="table", key=("id",), columns=(("id", "string"), ("n", "int")), history=10**12)
STREAM = View(name="alerts", topic="s", kind="stream", columns=(("n", "int"),), keep=10**12)
LONG_AGO = (0,) * PARTITIONS


@dataclass
class Model:
    """What the view holds after each commit, and what changed in it."""

    rows: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    after: list[dict[bytes, bytes]] = field(default_factory=lambda: [{}])
    times: list[int] = field(default_factory=lambda: [0])
    places: list[Place] = field(default_factory=lambda: [LONG_AGO])


def key(number: int) -> bytes:
    return keys.encode([f"k{number}"], ["string"])


def commit(writer: Writer, model: Model, chance: Random, offsets: list[int], clock: list[int]) -> None:
    with writer.commit() as batch:
        for _ in range(chance.randrange(1, 12)):
            number = chance.randrange(8)
            # All records of a key are in one partition.
            partition = number % PARTITIONS
            value = None if chance.random() < 0.3 else json.dumps({"id": f"k{number}", "n": chance.randrange(3)}).encode()
            clock[0] += chance.randrange(1000)
            batch.put("balances", key(number), value, partition, offsets[partition], clock[0])
            # Transactions leave gaps between offsets.
            offsets[partition] += chance.choice((1, 1, 1, 2, 5))
            if value is None:
                model.rows.pop(key(number), None)
            else:
                model.rows[key(number)] = value
    model.after.append(dict(model.rows))
    model.times.append(clock[0])
    model.places.append(writer.states["balances"].place)


def values(rows: list[tuple[bytes, Row]]) -> dict[bytes, bytes]:
    return {key: row.value for key, row in rows}


def replayed(start: dict[bytes, bytes], changes: list[Change]) -> dict[bytes, bytes]:
    rows = dict(start)
    for change in changes:
        assert rows.get(change.key) == change.before
        if change.after is None:
            del rows[change.key]
        else:
            rows[change.key] = change.after
    return rows


@pytest.mark.parametrize("seed", range(20))
def test_rows_versions_and_changes_are_those_of_a_dictionary(seed: int, tmp_path: Path) -> None:
    chance, model, offsets, clock = Random(seed), Model(), [0] * PARTITIONS, [1_000_000]
    writer = Writer(tmp_path)
    writer.declare(TABLE, "id-1", PARTITIONS)
    for _ in range(30):
        commit(writer, model, chance, offsets, clock)
        if chance.random() < 0.1:
            # As another process finds it.
            writer.close()
            writer = Writer(tmp_path)
            writer.declare(TABLE, "id-1", PARTITIONS)
    reader = Reader.beside(writer)
    with reader.snapshot() as views:
        assert values(list(views.rows("balances"))) == model.rows
        assert list(views.rows("balances", reverse=True)) == list(views.rows("balances"))[::-1]
        assert views.count("balances") == len(model.rows)
        start, stop = sorted((key(chance.randrange(8)), key(chance.randrange(8))))
        within = {k: v for k, v in model.rows.items() if start <= k < stop}
        assert values(list(views.rows("balances", start, stop))) == within
        assert values(list(views.rows("balances", start, stop, reverse=True))) == within
        for number, (then, when) in enumerate(zip(model.after, model.times, strict=True)):
            assert values(list(views.rows_at("balances", number))) == then
            for each in range(8):
                row = views.get_at("balances", key(each), number)
                assert (None if row is None else row.value) == then.get(key(each))
            if number:
                assert model.times[views.as_of("balances", when)] == when
        # From any commit, and from any change in the middle of one, all that follows and nothing twice.
        everything, end = views.changes(TABLE, LONG_AGO)
        assert end == model.places[-1]
        for number, place in enumerate(model.places):
            found, end = views.changes(TABLE, place)
            assert replayed(model.after[number], found) == model.rows
            assert end == model.places[-1]
        for number, change in enumerate(everything):
            assert views.changes(TABLE, change.place)[0] == everything[number + 1 :]
        # A few at a time.
        place, pieces = LONG_AGO, list[Change]()
        while True:
            found, place = views.changes(TABLE, place, limit=3)
            pieces += found
            if not found:
                break
        assert pieces == everything
    writer.close()
    other = Reader(tmp_path)
    with other.snapshot() as views:
        assert values(list(views.rows("balances"))) == model.rows
    other.close()


def test_a_commit_that_fails_leaves_nothing(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.declare(TABLE, "id-1", PARTITIONS)

    def fail() -> None:
        with writer.commit() as batch:
            batch.put("balances", key(1), b"{}", 0, 0, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    reader = Reader.beside(writer)
    with reader.snapshot() as views:
        assert views.count("balances") == 0
        assert views.state("balances").place == LONG_AGO


def test_readers_see_whole_commits_of_several_views(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.declare(TABLE, "id-1", PARTITIONS)
    writer.declare(STREAM, "id-2", PARTITIONS)
    reader = Reader.beside(writer)
    for number in range(50):
        with writer.commit() as batch:
            batch.put("balances", key(1), str(number).encode(), 0, number, number + 1)
            with reader.snapshot() as views:
                row = views.get("balances", key(1))
                assert (number == 0 and row is None) or (row is not None and row.value == str(number - 1).encode())
                assert views.count("alerts") == number
            batch.add("alerts", str(number).encode(), number % PARTITIONS, number, number + 1)
    with reader.snapshot() as views:
        assert [row.value for _, row in views.rows("alerts")] == [str(n).encode() for n in range(50)]
        assert [change.after for change in views.changes(STREAM, LONG_AGO)[0]] == [str(n).encode() for n in range(50)]


def test_another_topic_or_key_begins_anew_and_another_chart_does_not(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.declare(TABLE, "id-1", PARTITIONS)
    with writer.commit() as batch:
        batch.put("balances", key(1), b"{}", 0, 7, 1)
    changed = View(**{f: getattr(TABLE, f) for f in TABLE.__slots__} | {"charts": ({"kind": "number"},)})
    assert writer.declare(changed, "id-1", PARTITIONS).place == (8, 0, 0)
    assert writer.declare(changed, "id-of-the-recreated-topic", PARTITIONS).place == LONG_AGO
    reader = Reader.beside(writer)
    with reader.snapshot() as views:
        assert views.count("balances") == 0


def test_changes_that_are_not_kept_any_more_are_a_clear_error(tmp_path: Path) -> None:
    short = View(name="balances", topic="t", kind="table", key=("id",), columns=(("id", "string"),), history=1_000_000)
    writer = Writer(tmp_path)
    writer.declare(short, "id-1", PARTITIONS)
    for number in range(200):
        with writer.commit() as batch:
            batch.put("balances", key(1), str(number).encode(), 0, number, (number + 1) * 100)
    reader = Reader.beside(writer)
    with reader.snapshot() as views:
        with pytest.raises(Expired, match="not kept any more"):
            views.changes(short, LONG_AGO)
        with pytest.raises(Expired, match="versions of rows are kept since 1970-01-01T00:00:1"):
            views.as_of("balances", 5_000)
        found, _ = views.changes(short, (195, 0, 0))
        assert [change.after for change in found] == [b"195", b"196", b"197", b"198", b"199"]
        # A second of them, and no more.
        assert 10 <= views.state("balances").commit - views.state("balances").oldest <= 12


def test_after_a_power_cut_it_is_empty_and_read_again(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.declare(TABLE, "id-1", PARTITIONS)
    with writer.commit() as batch:
        batch.put("balances", key(1), b"{}", 0, 0, 1)
    # The process ends without `close`, and the machine starts again.
    (tmp_path / "boot").write_text("1 another boot")
    again = Writer(tmp_path)
    assert again.declare(TABLE, "id-1", PARTITIONS).place == LONG_AGO
