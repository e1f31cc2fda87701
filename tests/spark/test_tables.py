"""Tables against DuckDB and plain Python: random histories of inserts, updates, deletes, duplicates and disorder, split at random, with crashes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import headrace as hr
from headrace.testing import Driver, at
from tests.spark.histories import HISTORIES, Record, Row, assert_same, duck, new_seed, newest, play, settled, split

START = at("10:00:00")
SCHEMAS = {
    "items": "id string, owner string, city string, x int, d double, tag string",
    "people": "pid string, name string, town string",
    "extras": "id string, note string, w int",
    "versions": "a string, n int, v bigint, x int",
    "events": "k string, n int, x int, at timestamp",
}


def mixed(seed: int, topics: Sequence[str], length: int) -> list[Record]:
    """Records of many histories, in one log."""
    chance = random.Random(seed)
    return [_record(chance, chance.randrange(HISTORIES), chance.choice(topics)) for _ in range(HISTORIES * length)]


def _record(chance: random.Random, history: int, topic: str) -> Record:
    def one(*values: Any) -> Any:
        return chance.choice(values)

    def name(kind: str, count: int, *, null: bool = False) -> str | None:
        return None if null and chance.random() < 0.15 else f"{kind}{history}-{chance.randrange(count)}"

    match topic:
        case "items":
            row: Row = {"id": name("i", 5), "owner": name("p", 4, null=True), "city": name("c", 3, null=True)}
            row |= {"x": one(None, 1, 2, 3, -4), "d": one(None, 0.1, 0.2, 1e17, -1e17, 3.0), "tag": one("a", "b", "ü", None)}
            key: Any = row["id"]
        case "people":
            row = {"pid": name("p", 4), "name": one("ann", "bob", None), "town": name("c", 3, null=True)}
            key = row["pid"]
        case "extras":
            row = {"id": name("i", 5), "note": one("n", "m", None), "w": one(1, 2, 3)}
            key = row["id"]
        case _:
            row = {"a": name("a", 2), "n": one(0, 1), "v": chance.randrange(8), "x": one(1, 2)}
            key = {"a": row["a"], "n": row["n"]}
    return Record(topic, key, None if chance.random() < 0.25 else row)


def by_version(records: Sequence[Record]) -> tuple[list[Row], int]:
    """The rows with the highest versions, and how many came too late. A delete has no version: it deletes what there is."""
    known: dict[str, tuple[int, Row | None]] = {}
    stale = 0
    for record in records:
        version, _ = known.get(str(record.key), (-1, None))
        if record.row is None:
            known[str(record.key)] = (version, None)
        elif record.row["v"] < version:
            stale += 1
        else:
            known[str(record.key)] = (record.row["v"], record.row)
    return [row for _, row in known.values() if row is not None], stale


JOINS = {
    "key": ("extras", {"id": "id"}),
    "foreign": ("people", {"owner": "pid"}),
    "many": ("people", {"city": "town"}),
}


def sql_join(right: str, on: dict[str, str], how: str) -> str:
    names = {table: [field.split()[0] for field in SCHEMAS[table].split(", ")] for table in ("items", right)}
    left = [f"coalesce(l.{name}, r.{on[name]}) as {name}" if name in on else f"l.{name}" for name in names["items"]]
    rest = [f"r.{name}" for name in names[right] if name not in on.values()]
    same = " and ".join(f"l.{mine} = r.{theirs}" for mine, theirs in on.items())
    return f"select {', '.join(left + rest)} from items l {how} join {right} r on {same}"


def test_tables_and_their_joins_are_what_duckdb_makes_of_the_final_rows() -> None:
    seed = new_seed()
    app = hr.App("tables")
    items = app.table("items", key="id", schema=SCHEMAS["items"])
    people = app.table("people", key="pid", schema=SCHEMAS["people"])
    extras = app.table("extras", key="id", schema=SCHEMAS["extras"])
    versions = app.table("versions", key=("a", "n"), schema=SCHEMAS["versions"], version="v")
    items.to("newest")
    versions.to("by-version")
    items.where("x > 0").with_columns(y="x * 2", tag="upper(tag)").where("y < 6").select("id", "tag", "y").to("matching")
    versions.where("x = 1").drop("v").to("version-matching")
    versions.changes().to("changes")
    for kind, (right, on) in JOINS.items():
        for how in ("inner", "left", "full"):
            items.join(people if right == "people" else extras, on=on, how=how).to(f"{kind}-{how}")
    first = items.join(people, on={"owner": "pid"}, how="left").where("name is not null or x > 1")
    first.join(extras, on="id", how="full").where("w > 1 or x > 0").to("chain")
    many = items.join(people.drop("name"), on={"city": "town"}, how="full")
    many.join(extras.where("w > 1"), on="id", how="left").to("many-chain")

    records = mixed(seed, ["items", "items", "people", "extras", "versions"], 30)
    chance = random.Random(seed + 1)
    with Driver(app) as driver:
        play(driver, split(records, chance, 5), chance)
        tables = {topic: newest(records, topic) for topic in ("items", "people", "extras")}
        tables["versions"], stale = by_version([record for record in records if record.topic == "versions"])

        def check(topic: str, sql: str) -> None:
            assert_same(settled(driver, topic), duck(sql, tables, SCHEMAS), topic)

        check("newest", "from items")
        check("by-version", "from versions")
        check("matching", "select id, upper(tag) as tag, x * 2 as y from items where x > 0 and x * 2 < 6")
        check("version-matching", "select a, n, x from versions where x = 1")
        for kind, (right, on) in JOINS.items():
            for how in ("inner", "left", "full"):
                check(f"{kind}-{how}", sql_join(right, on, how))
        check(
            "chain",
            """with f as (select i.*, name, town from items i left join people p on owner = pid where name is not null or x > 1)
            select coalesce(f.id, e.id) as id, f.* exclude (id), note, w from f full join extras e on f.id = e.id where w > 1 or x > 0""",
        )
        check(
            "many-chain",
            """with m as (select i.* exclude (city), coalesce(city, town) as city, pid from items i full join people p on city = town)
            select m.*, note, w from m left join extras e on m.id = e.id and w > 1""",
        )
        chained(driver.rows("changes"), tables["versions"])


def chained(changes: list[Row], expected: list[Row]) -> None:
    """Each change begins with the row in which the one before it ended; together they make the table."""
    rows: dict[tuple[str, int], Row | None] = {}
    for change in changes:
        key, before, after = (change["a"], change["n"]), change["before"], change["after"]
        assert before == rows.get(key), change
        assert before != after, change
        assert change["op"] == ("insert" if before is None else "delete" if after is None else "update"), change
        assert all(row is None or (row["a"], row["n"]) == key for row in (before, after)), change
        rows[key] = after
    assert_same([row for row in rows.values() if row is not None], expected, "changes")
