"""Tables against DuckDB and plain Python: random inserts, updates, deletes, duplicates and disorder, split at random, with a crash."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from fractions import Fraction
from typing import Any

import headrace as hr
from headrace.testing import Driver, at
from tests.spark.histories import HISTORIES, Record, Row, assert_same, duck, new_seed, newest, play, settled, split

START = at("10:00:00")
SCHEMAS = {
    "items": "id string, owner string, city string, x int, tag string",
    "people": "pid string, name string, born int",
    "extras": "id string, note string, w int",
    "towns": "tid string, town string, size int",
    "versions": "a string, n int, v bigint, x int",
    "events": "k string, n int, x int, at timestamp",
    "sales": "id string, g string, x int, d double, tag string, at timestamp",
    "notes": "id string, word string",
    "orders": "k string, g string, x int, at timestamp",
    "groups": "g string, title string",
}


class Writer:
    """Random records; those of a history have keys that no other history has."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.moments = iter(self.chance.sample(range(10**7), 10**5))

    def mixed(self, *topics: str, length: int) -> list[Record]:
        """About so many records a history, in one log."""
        made = [self.record(self.chance.randrange(HISTORIES), self.chance.choice(topics)) for _ in range(HISTORIES * length)]
        twice = [made[i] for i in sorted([*range(len(made)), *self.chance.sample(range(len(made)), len(made) // 20)])]
        return twice

    def record(self, history: int, topic: str) -> Record:
        row, key = self.row(history, topic)
        return Record(topic, key, None if topic not in ("events", "orders") and self.chance.random() < 0.25 else row)

    def row(self, history: int, topic: str) -> tuple[Row, Any]:
        one, name = lambda *values: self.chance.choice(values), lambda *range: self.name(history, *range)  # noqa: E731
        match topic:
            case "items":
                row: Row = {"id": name("i", 5), "owner": name("p", 4, 0.15), "city": name("c", 3, 0.15)}
                row |= {"x": one(None, 1, 2, 3, -4), "tag": one("a", "ü", None)}
            case "people":
                row = {"pid": name("p", 4), "name": one("ann", "bob", None), "born": one(1, 2)}
            case "extras":
                row = {"id": name("i", 5), "note": one("n", "m", None), "w": one(1, 2, 3)}
            case "towns":
                row = {"tid": name("t", 4), "town": name("c", 3, 0.15), "size": one(1, 2)}
            case "versions":
                row = {"a": name("a", 2), "n": one(0, 1), "v": self.chance.randrange(8), "x": one(1, 2)}
                return row, {"a": row["a"], "n": row["n"]}
            case "events":
                moment = START + timedelta(seconds=self.chance.randrange(8))
                row = {"k": name("k", 3, 0.03), "n": self.chance.randrange(6), "x": one(1, 2, 3), "at": moment}
            case "sales":
                # A few groups are large, so that they don't fit into what is kept at hand of a group.
                large = history < 5
                row = {"id": name("i", 80 if large else 6), "g": name("g", 2, 0.1), "tag": one("a", "b", "ü", None)}
                row["x"] = one(None, self.chance.randint(-999, 999) if large else self.chance.randint(-3, 3))
                row["d"] = one(None, 0.1, 0.3, 1e17, -1e17, 1e-9, -2.5, self.chance.uniform(-1, 1))
                row["at"] = START + timedelta(milliseconds=next(self.moments))
            case "notes":
                row = {"id": name("i", 80 if history < 5 else 6), "word": name("w", 2, 0.2)}
            case "orders":
                row = {"k": name("k", 4), "g": name("g", 3), "x": one(None, 1, 2, -3), "at": START}
            case _:
                row = {"g": name("g", 3), "title": one("s", "t", None)}
        return row, next(iter(row.values()))

    def name(self, history: int, kind: str, count: int, null: float = 0) -> str | None:
        return None if self.chance.random() < null else f"{kind}{history}-{self.chance.randrange(count)}"


def by_version(records: Iterable[Record], version: str) -> tuple[list[Row], int]:
    """The rows with the highest versions, and how many came too late. A delete has no version: it deletes what there is."""
    known: dict[str, tuple[Any, Row | None]] = {}
    stale = 0
    for record in records:
        newest, _ = known.get(str(record.key), (None, None))
        if record.row is None:
            known[str(record.key)] = (newest, None)
        elif newest is not None and record.row[version] < newest:
            stale += 1
        else:
            known[str(record.key)] = (record.row[version], record.row)
    return [row for _, row in known.values() if row is not None], stale


def test_a_table_is_the_newest_row_of_each_key() -> None:
    seed = new_seed()
    app = hr.App("newest")
    items = app.table("items", key="id", schema=SCHEMAS["items"])
    versions = app.table("versions", key=("a", "n"), schema=SCHEMAS["versions"], version="v")
    events = app.stream("events", schema=SCHEMAS["events"], time="at")
    items.to("newest")
    items.where("x > 0").with_columns(y="x * 2", tag="upper(tag)").where("y < 6").select("id", "tag", "y").to("matching")
    versions.to("by-version")
    events.as_table(key="k").changes().to("latest")
    events.as_table(key="k", version="n").where("x > 1").drop("at").to("latest-matching")
    writer = Writer(seed)
    records = writer.mixed("items", "versions", "events", length=40)
    with Driver(app) as driver:
        play(driver, split(records, writer.chance, 4), writer.chance)
        final = newest(records, "items")
        assert_same(settled(driver, "newest"), final, "newest")
        sql = "select id, upper(tag) as tag, x * 2 as y from items where x > 0 and x * 2 < 6"
        assert_same(settled(driver, "matching"), duck(sql, {"items": final}, SCHEMAS), "matching")

        final, stale = by_version((record for record in records if record.topic == "versions"), "v")
        assert_same(settled(driver, "by-version"), final, "by-version")
        assert driver.total("by-version").stale == stale > 0

        nameless = sum(record.topic == "events" and record.key is None for record in records)
        events_of_keys = [record for record in records if record.topic == "events" and record.key is not None]
        final, stale = by_version(events_of_keys, "at")
        assert_same(followed(driver.rows("latest")), final, "latest")
        assert driver.total("latest").stale == stale > 0
        assert driver.total("latest").bad == nameless > 0
        final, stale = by_version(events_of_keys, "n")
        sql = "select k, n, x from events where x > 1"
        assert_same(settled(driver, "latest-matching"), duck(sql, {"events": final}, SCHEMAS), "latest-matching")
        assert driver.total("latest-matching").stale == stale > 0


def followed(changes: list[Row]) -> list[Row]:
    """Where the changes lead: each begins with the row in which the one before it ended."""
    rows: dict[str, Row | None] = {}
    for change in changes:
        key, before, after = change["k"], change["before"], change["after"]
        assert before == rows.get(key), change
        assert before != after, change
        assert change["op"] == ("insert" if before is None else "delete" if after is None else "update"), change
        assert all(row is None or row["k"] == key for row in (before, after)), change
        rows[key] = after
    return [{**row, "at": at(row["at"])} for row in rows.values() if row is not None]


def test_joins_of_tables_are_what_duckdb_joins_of_the_final_rows() -> None:
    seed = new_seed()
    app = hr.App("table-joins")
    keys = {"items": "id", "people": "pid", "extras": "id", "towns": "tid"}
    items, people, extras, towns = (app.table(topic, key=key, schema=SCHEMAS[topic]) for topic, key in keys.items())
    # Each kind (on both keys, on a foreign key, many to many) with each way (inner, left, full), and joins of joins.
    noted = items.join(extras, on="id")
    noted.join(people, on={"owner": "pid"}, how="left").join(towns, on={"city": "town"}, how="full").to("many-full")
    owned = items.join(people, on={"owner": "pid"}).where("name is not null or x > 1")
    owned.join(extras, on="id", how="full").to("key-full")
    placed = items.join(extras, on="id", how="left").join(towns, on={"city": "town"})
    placed.join(people, on={"owner": "pid"}, how="full").to("foreign-full")
    towns.join(items, on={"town": "city"}, how="left").where("x is null or x > 0").to("many-left")
    writer = Writer(seed)
    records = writer.mixed("items", "items", *keys, length=40)
    with Driver(app) as driver:
        play(driver, split(records, writer.chance, 4), writer.chance)
        final = {topic: newest(records, topic) for topic in keys}

        def check(topic: str, sql: str) -> None:
            found = settled(driver, topic)
            assert found
            assert_same(found, duck(sql, final, SCHEMAS), topic)

        check(
            "many-full",
            """with l as (
                select i.*, note, w, name, born from items i join extras e on i.id = e.id left join people on owner = pid
            ) select l.* exclude (city), coalesce(city, town) as city, tid, size from l full join towns on city = town""",
        )
        check(
            "key-full",
            """with l as (select i.*, name, born from items i join people on owner = pid where name is not null or x > 1)
            select coalesce(l.id, e.id) as id, l.* exclude (id), note, w from l full join extras e on l.id = e.id""",
        )
        check(
            "foreign-full",
            """with l as (
                select i.*, note, w, tid, size from items i left join extras e on i.id = e.id join towns on city = town
            ) select l.* exclude (owner), coalesce(owner, pid) as owner, name, born from l full join people on owner = pid""",
        )
        check(
            "many-left",
            """select tid, town, size, i.* exclude (city) from towns left join items i on town = city where x is null or x > 0""",
        )


def aggregates(rows: Sequence[Row]) -> Row:
    rows = sorted(rows, key=lambda row: row["at"])
    xs, ds, tags = ([row[name] for row in rows if row[name] is not None] for name in ("x", "d", "tag"))
    by_id = sorted(rows, key=lambda row: row["id"])
    by_x = sorted(rows, key=lambda row: (row["x"] is not None, row["x"], row["id"]), reverse=True)
    of_a = [row["d"] for row in rows if row["tag"] == "a" and row["d"] is not None]
    return {
        "n": len(rows),
        "nx": len(xs),
        "tags": len(set(tags)),
        "total": sum(xs) if xs else None,
        "exact": math.fsum(ds) if ds else None,
        "mean": float(sum(map(Fraction, ds)) / len(ds)) if ds else None,
        "mean_x": sum(xs) / len(xs) if xs else None,
        "low": min(xs, default=None),
        "high": max(ds, default=None),
        "high_tag": max(tags, default=None, key=str.encode),
        "of_lowest": by_id[0]["tag"],
        "of_highest": by_id[-1]["x"],
        "top": [row["id"] for row in by_x[:3]],
        "oldest": [row["id"] for row in rows[:2]],
        "list": xs,
        "set": sorted(set(tags), key=str.encode),
        "first": rows[0]["x"],
        "last": rows[-1]["tag"],
        "some": sum(x > 1 for x in xs),
        "exact_a": math.fsum(of_a) if of_a else None,
        "ratio": sum(xs) / len(rows) if xs else None,
        "range": max(xs, default=0) - min(xs) if xs else None,
    }


AGGREGATES = {
    "n": "count(*)",
    "nx": "count(x)",
    "tags": "count(distinct tag)",
    "total": "sum(x)",
    "exact": "sum(d)",
    "mean": "avg(d)",
    "mean_x": "avg(x)",
    "low": "min(x)",
    "high": "max(d)",
    "high_tag": "max(tag)",
    "of_lowest": "min_by(tag, id)",
    "of_highest": "max_by(x, id)",
    "top": "max_by(id, struct(x, id), 3)",
    "oldest": "min_by(id, at, 2)",
    "list": "collect_list(x)",
    "set": "collect_set(tag)",
    "first": "first(x)",
    "last": "last(tag)",
    "some": "count(*) filter (where x > 1)",
    "exact_a": "sum(d) filter (where tag = 'a')",
    "ratio": "sum(x) / count(*)",
    "range": "coalesce(max(x), 0) - min(x)",
}


def grouped(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def test_aggregates_follow_every_change_of_a_table() -> None:
    seed = new_seed()
    app = hr.App("aggregates")
    sales = app.table("sales", key="id", schema=SCHEMAS["sales"], time="at")
    notes = app.table("notes", key="id", schema=SCHEMAS["notes"])
    sales.key_by("g").agg(**AGGREGATES).to("of-groups")
    sales.where("x > 0").agg(n="count(*)", exact="sum(d)", top="max_by(id, struct(x, id), 5)").to("of-all")
    counted = sales.key_by("g").agg(n="count(*)", total="sum(x)", last="max(at)")
    counted.key_by(rest="n % 3").agg(
        groups="count(*)", rows="sum(n)", best="max_by(g, struct(total, g), 2)", all="collect_list(n)"
    ).to("of-aggregates")
    joined = sales.join(notes, on="id", how="left")
    joined.key_by("word").agg(n="count(*)", exact="sum(d)", list="collect_list(id)", last="last(id)").to("of-joined")
    writer = Writer(seed)
    records = writer.mixed("sales", "sales", "notes", length=25)
    records += [record for history in range(5) for record in (writer.record(history, "sales") for _ in range(150))]
    writer.chance.shuffle(records)
    with Driver(app) as driver:
        play(driver, split(records, writer.chance, 4), writer.chance)
        final = newest(records, "sales")
        groups = grouped(final, lambda row: row["g"])
        assert_same(settled(driver, "of-groups"), [{"g": g, **aggregates(rows)} for g, rows in groups.items()], "of-groups")

        some = [row for row in final if (row["x"] or 0) > 0]
        top = [row["id"] for row in sorted(some, key=lambda row: (row["x"], row["id"]), reverse=True)[:5]]
        exact = math.fsum(row["d"] for row in some if row["d"] is not None)
        assert settled(driver, "of-all") == [{"n": len(some), "exact": exact, "top": top}]

        made = [{"g": g, **aggregates(rows)} for g, rows in groups.items()]
        expected: list[Row] = []
        for rest, rows in grouped(made, lambda row: row["n"] % 3).items():
            best = sorted(rows, key=lambda row: (row["total"] is not None, row["total"], row["g"] or ""), reverse=True)
            ns = sorted(row["n"] for row in rows)
            expected.append(
                {"rest": rest, "groups": len(rows), "rows": sum(ns), "best": [row["g"] for row in best[:2]], "all": ns}
            )
        found = [{**row, "all": sorted(row["all"])} for row in settled(driver, "of-aggregates")]
        assert_same(found, expected, "of-aggregates")

        sql = "select word, count(*) as n, list(d) as exact, list_sort(list(s.id)) as list from sales s left join notes n on s.id = n.id group by word"
        expected = duck(sql, {"sales": final, "notes": newest(records, "notes")}, SCHEMAS)
        for row in expected:
            row["exact"] = _fsum([d for d in row["exact"] if d is not None])
        found = settled(driver, "of-joined")
        assert all(row["last"] in row["list"] for row in found)
        found = [{**row, "list": sorted(row["list"])} for row in found]
        assert_same([{name: row[name] for name in expected[0]} for row in found], expected, "of-joined")


def _fsum(values: list[float]) -> float | None:
    return math.fsum(values) if values else None


def test_what_a_stream_aggregates_is_a_table_too() -> None:
    seed = new_seed()
    app = hr.App("running")
    orders = app.stream("orders", schema=SCHEMAS["orders"], time="at")
    groups = app.table("groups", key="g", schema=SCHEMAS["groups"])
    running = orders.key_by("k", "g").agg(n="count(*)", total="sum(x)")
    running.where("total > 1").to("matching")
    running.join(groups, on="g", how="left").to("joined")
    running.key_by("g").agg(keys="count(*)", rows="sum(n)", best="max_by(k, struct(total, k))").to("aggregated")
    writer = Writer(seed)
    records = writer.mixed("orders", "orders", "groups", length=30)
    with Driver(app) as driver:
        play(driver, split(records, writer.chance, 4), writer.chance)
        tables = {"orders": [r.row for r in records if r.topic == "orders" and r.row], "groups": newest(records, "groups")}
        base = "with running as (select k, g, count(*) as n, sum(x)::bigint as total from orders group by k, g) "
        for topic, sql in {
            "matching": "from running where total > 1",
            "joined": "select r.*, title from running r left join groups s on r.g = s.g",
            "aggregated": """select g, count(*) as keys, sum(n)::bigint as rows,
                coalesce(max_by(k, (total, k)) filter (where total is not null), max(k)) as best from running group by g""",
        }.items():
            assert_same(settled(driver, topic), duck(base + sql, tables, SCHEMAS), topic)
