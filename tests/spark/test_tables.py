"""Tables against DuckDB and plain Python: random inserts, updates, deletes and disorder, split at random, with a crash."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.broker.client import Connection
from headrace.plan import realtime as plan_realtime
from headrace.spark.compile import compile
from headrace.spark.read import kafka
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
    "groups": "gid string, g string, title string",
    "clicks": "i int, who string, at timestamp",
    "users": "id string, name string",
    "plans": "id string, v int, plan int",
    "trades": "i int, sym string, at timestamp",
    "prices": "sym string, ver bigint, p int, at timestamp",
}


class Writer:
    """Random records; those of a history have keys that no other history has."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.moments = iter(self.chance.sample(range(10**7), 10**5))
        self.last: dict[str, Row] = {}

    def mixed(self, *topics: str, length: int) -> list[Record]:
        """About so many records a history, in one log."""
        made = [self.record(self.chance.randrange(HISTORIES), self.chance.choice(topics)) for _ in range(HISTORIES * length)]
        twice = self.chance.sample(range(len(made)), len(made) // 20)
        return [made[i] for i in sorted([*range(len(made)), *twice])]

    def record(self, history: int, topic: str) -> Record:
        row, key = self.row(history, topic)
        return Record(topic, key, None if topic not in ("events", "orders") and self.chance.random() < 0.25 else row)

    def row(self, history: int, topic: str) -> tuple[Row, Any]:
        one, name = lambda *values: self.chance.choice(values), lambda *range: self.name(history, *range)
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
                if self.chance.random() < 0.2:
                    row = self.last.get(row["id"], row)
                row = self.last[row["id"]] = {**row, "at": START + timedelta(milliseconds=next(self.moments))}
            case "notes":
                row = {"id": name("i", 80 if history < 5 else 6), "word": name("w", 2, 0.2)}
            case "orders":
                row = {"k": name("k", 4), "g": name("g", 3, 0.1), "x": one(None, 1, 2, -3), "at": START}
            case _:
                row = {"gid": name("d", 3), "g": name("g", 3, 0.1), "title": one("s", "t", None)}
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
    records = writer.mixed("items", "versions", "events", length=30)
    with Driver(app) as driver:
        play(driver, split(records, writer.chance, 3), writer.chance)
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
    return [row for row in rows.values() if row is not None]


def test_joins_of_tables_are_what_duckdb_joins_of_the_final_rows() -> None:
    seed = new_seed()
    app = hr.App("table-joins")
    keys = {"items": "id", "people": "pid", "extras": "id", "towns": "tid"}
    items, people, extras, towns = (app.table(topic, key=key, schema=SCHEMAS[topic]) for topic, key in keys.items())
    # On both keys, on a foreign key and many to many, inner, left and full, and joins of joins. The two that are missing here
    # are below: on both keys, left, in the aggregates; many to many, inner, in what a stream aggregates.
    noted = items.join(extras, on="id")
    noted.join(people, on={"owner": "pid"}, how="left").join(towns, on={"city": "town"}, how="full").to("many-full")
    owned = items.join(people, on={"owner": "pid"}).where("name is not null or x > 1")
    owned.join(extras, on="id", how="full").to("key-full")
    placed = towns.join(items, on={"town": "city"}, how="left").where("x is null or x > 0")
    placed.join(people, on={"owner": "pid"}, how="full").to("foreign-full")
    writer = Writer(seed)
    records = writer.mixed("items", "items", *keys, length=30)
    with Driver(app) as driver:
        play(driver, split(records, writer.chance, 3), writer.chance)
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
                select tid, town, size, i.* exclude (city) from towns left join items i on town = city where x is null or x > 0
            ) select l.* exclude (owner), coalesce(owner, pid) as owner, name, born from l full join people on owner = pid""",
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
    sizes = sales.where("x is null or x > -3").key_by("g").agg(size="least(count(*), 3)", high="max(x)")
    sizes.agg(groups="count(*)", total="sum(high)", best="max_by(g, struct(high, g), 5)", all="collect_list(g)").to("of-all")
    joined = sales.join(notes, on="id", how="left")
    joined.key_by("word").agg(n="count(*)", exact="sum(d)", all="collect_list(id)", last="last(id)").to("of-joined")
    writer = Writer(seed)
    records = writer.mixed("sales", "sales", "notes", length=25)
    records += [writer.record(history, "sales") for history in range(5) for _ in range(150)]
    writer.chance.shuffle(records)
    with Driver(app) as driver:
        play(driver, split(records, writer.chance, 3), writer.chance)
        final = newest(records, "sales")
        groups = grouped(final, lambda row: row["g"])
        assert_same(settled(driver, "of-groups"), [{"g": g, **aggregates(rows)} for g, rows in groups.items()], "of-groups")

        groups = grouped((row for row in final if row["x"] is None or row["x"] > -3), lambda row: row["g"])
        highs = {g: max((row["x"] for row in rows if row["x"] is not None), default=None) for g, rows in groups.items()}
        best = sorted(groups, key=lambda g: (highs[g] is not None, highs[g], g is not None, g), reverse=True)[:5]
        expected: list[Row] = [{"groups": len(groups), "total": sum(high or 0 for high in highs.values()), "best": best}]
        found = settled(driver, "of-all")
        assert sorted(found[0].pop("all")) == sorted(g for g in groups if g)
        assert_same(found, expected, "of-all")

        sql = """select word, count(*) as n, list(d) as exact, list_sort(list(s.id)) as all_
            from sales s left join notes n on s.id = n.id group by word"""
        expected = duck(sql, {"sales": final, "notes": newest(records, "notes")}, SCHEMAS)
        for row in expected:
            ds = [d for d in row["exact"] if d is not None]
            row |= {"exact": math.fsum(ds) if ds else None, "all": row.pop("all_")}
        found = settled(driver, "of-joined")
        assert all(row.pop("last") in row["all"] for row in found)
        assert_same(({**row, "all": sorted(row["all"])} for row in found), expected, "of-joined")


@pytest.mark.soak
def test_what_a_stream_aggregates_is_a_table_too() -> None:
    seed = new_seed()
    app = hr.App("running")
    orders = app.stream("orders", schema=SCHEMAS["orders"], time="at")
    groups = app.table("groups", key="gid", schema=SCHEMAS["groups"])
    running = orders.key_by("k", "g").agg(n="count(*)", total="sum(x)")
    running.where("total > 1").to("matching")
    running.join(groups, on="g").to("joined")
    running.key_by("g").agg(keys="count(*)", rows="sum(n)", best="max_by(k, struct(total, k))").to("aggregated")
    writer = Writer(seed)
    records = writer.mixed("orders", "orders", "groups", length=30)
    with Driver(app) as driver:
        play(driver, split(records, writer.chance, 3), writer.chance)
        tables = {"orders": [r.row for r in records if r.topic == "orders" and r.row], "groups": newest(records, "groups")}
        base = "with running as (select k, g, count(*) as n, sum(x)::bigint as total from orders group by k, g) "
        for topic, sql in {
            "matching": "from running where total > 1",
            "joined": "select r.*, gid, title from running r join groups s on r.g = s.g",
            "aggregated": """select g, count(*) as keys, sum(n)::bigint as rows,
                coalesce(max_by(k, (total, k)) filter (where total is not null), max(k)) as best from running group by g""",
        }.items():
            assert_same(settled(driver, topic), duck(base + sql, tables, SCHEMAS), topic)


def test_an_event_meets_the_row_that_is_there_when_it_arrives() -> None:
    seed = new_seed()
    app = hr.App("arrival")
    clicks = app.stream("clicks", schema=SCHEMAS["clicks"], time="at")
    users = app.table("users", key="id", schema=SCHEMAS["users"])
    plans = app.table("plans", key="id", schema=SCHEMAS["plans"], version="v")
    clicks.join(users, on={"who": "id"}, with_version=True).to("inner")
    clicks.join(plans, on={"who": "id"}, how="left", with_version=True).to("left")
    chance = random.Random(seed)
    records: list[Record] = []
    clock = START
    for number in range(HISTORIES * 30):
        # Several records have the same time in the log, which is the newest time of any click so far.
        clock += timedelta(milliseconds=chance.choice((0, 0, 0, 1, 900)))
        who = f"u{chance.randrange(HISTORIES)}-{chance.randrange(2)}"
        match chance.choice(("clicks", "clicks", "users", "plans")):
            case "clicks":
                late = timedelta(milliseconds=chance.choice((0, 0, 1500)))
                row = {"i": number, "who": chance.choice((who, who, who, None)), "at": clock - late}
                records.append(Record("clicks", None, row))
            case topic:
                row = (
                    {"id": who, "name": f"n{number}"}
                    if topic == "users"
                    else {"id": who, "v": chance.randrange(9), "plan": number}
                )
                records.append(Record(topic, who, None if chance.random() < 0.2 else row))
    batches = split(records, chance, 3)
    with Driver(app) as driver:
        play(driver, batches, chance)
        expected = [row for row in arrivals(batches, "users", "name") if row["version"] is not None]
        assert_same(driver.rows("inner"), expected, "inner")
        expected, stale = (
            list(arrivals(batches, "plans", "plan")),
            by_version((r for r in records if r.topic == "plans"), "v")[1],
        )
        assert_same(driver.rows("left"), expected, "left")
        assert driver.total("left").stale == stale > 0


def arrivals(batches: Sequence[Sequence[Record]], table: str, column: str) -> Iterator[Row]:
    """Clicks with the row as it was: batch by batch, in the order of the log's time, and of equal times the table first."""
    rows: dict[str, tuple[int, Row | None]] = {}
    now, offset = at("00:00:00"), 0
    for batch in batches:
        stamped: list[tuple[datetime, bool, int, Record]] = []
        for number, record in enumerate(batch):
            if record.topic == "clicks" and record.row is not None:
                now = max(now, record.row["at"])
            if record.topic in ("clicks", table):
                stamped.append((now, record.topic == "clicks", number, record))
        for _, click, _, record in sorted(stamped, key=lambda each: each[:3]):
            if click and record.row is not None:
                version, row = rows.get(record.row["who"], (None, None))
                found = {column: None, "version": None} if row is None else {column: row[column], "version": version}
                yield {**record.row, **({"v": row and row["v"]} if table == "plans" else {}), **found}
                continue
            known = rows.get(record.key, (-1, None))[0]
            version = offset if record.row is None or "v" not in record.row else record.row["v"]
            if record.row is None:
                rows[record.key] = (known, None)
            elif version >= known:
                rows[record.key] = (version, record.row)
            offset += 1


LATENESS, VARIANTS = 8_000, 3


def test_an_event_meets_the_row_of_its_own_time_in_whatever_order_both_come() -> None:
    seed = new_seed()
    app = hr.App("as-of")
    late = timedelta(milliseconds=LATENESS)
    trades = app.stream("trades", schema=SCHEMAS["trades"], time="at", lateness=late).drop("at")
    prices = app.table("prices", key="sym", schema=SCHEMAS["prices"], time="at", lateness=late, version="ver").drop("at")
    trades.join(prices, on="sym", as_of="event_time", history="0 seconds").to("inner")
    trades.join(prices, on={"sym": "sym"}, as_of="event_time", how="left", with_version=True).to("left")
    chance = random.Random(seed)
    arriving: list[tuple[float, Record]] = []
    for history in range(HISTORIES // VARIANTS):
        made = [*_prices(chance), *_trades(chance)]
        for variant in range(VARIANTS):
            # The same records, in another order, with other duplicates.
            sym = f"{history}-{variant}-"
            for topic, key, millis, row in made:
                moment = START + timedelta(milliseconds=millis)
                for _ in range(1 + (chance.random() < 0.1)):
                    record = Record(topic, sym + key, {"sym": sym + key, "at": moment, **row})
                    arriving.append((millis + chance.random() * LATENESS, record))
            for millis in range(1, 60_000, 20_000) if history % 2 else ():
                # A delete's time is the log's. The trade before it sets that, to one that nothing else has.
                millis += chance.randrange(0, 20_000, 2)
                tick = {"sym": "tick", "i": 0, "at": START + timedelta(milliseconds=millis)}
                arriving += [
                    (millis, Record("trades", None, tick)),
                    (millis, Record("prices", f"{sym}{chance.choice('ab')}", None)),
                ]
    records = [record for _, record in sorted(arriving, key=lambda each: each[0])]
    with Driver(app) as driver:
        play(driver, split(records, chance, 3), chance)
        driver.advance("1 minute")
        expected = list(as_of(records))
        assert_same(driver.rows("left"), expected, "left")
        inner = [{name: row[name] for name in ("i", "sym", "p", "ver")} for row in expected if row["version"] is not None]
        assert_same(driver.rows("inner"), inner, "inner")
        assert driver.total("left").late == driver.total("inner").late == 0
        # Without deletes it is the same in whatever order the records came, but for the duplicates.
        seen: dict[tuple[int, int], set[tuple[Any, ...]]] = {}
        for row in driver.rows("left"):
            if row["sym"] != "tick":
                history, variant, key = row["sym"].split("-")
                seen.setdefault((int(history), int(variant)), set()).add((key, row["i"], row["p"], row["version"]))
        for (history, variant), rows in seen.items():
            assert history % 2 or rows == seen[history, 0], (history, variant)


def _prices(chance: random.Random) -> Iterator[tuple[str, str, int, Row]]:
    for key in "ab":
        times = sorted(chance.randrange(0, 60_000, 500) for _ in range(chance.randint(0, 6)))
        yield from (("prices", key, time, {"ver": number, "p": chance.randrange(3)}) for number, time in enumerate(times))


def _trades(chance: random.Random) -> Iterator[tuple[str, str, int, Row]]:
    for number in range(8):
        yield "trades", chance.choice("ab"), chance.randrange(0, 60_000, 500), {"i": number}


def as_of(records: Iterable[Record]) -> Iterator[Row]:
    """Every trade with the newest price of its time or before. A delete is of the log's time: the newest of any so far."""
    now = START
    prices: dict[str, list[tuple[datetime, int, Row | None]]] = {}
    trades: list[Row] = []
    for record in records:
        if record.row is None:
            prices.setdefault(record.key, []).append((now, -1, None))
            continue
        now = max(now, record.row["at"])
        if record.topic == "prices":
            prices.setdefault(record.key, []).append((record.row["at"], record.row["ver"], record.row))
        else:
            trades.append(record.row)
    for trade in trades:
        known = [price for price in prices.get(trade["sym"], []) if price[0] <= trade["at"]]
        row = max(known, key=lambda price: price[:2])[2] if known else None
        found = {"ver": row["ver"], "p": row["p"], "version": row["ver"]} if row else {"ver": None, "p": None, "version": None}
        yield {"i": trade["i"], "sym": trade["sym"], **found}


def test_blocks_are_made_by_an_operator_of_the_kernel_and_in_real_time_by_spark(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    app = hr.App("plans")
    names = app.table("names", key="key", schema="key string, name string")
    app.stream("events", schema="key string").join(names, on="key").to("out")

    def plan(*, realtime: bool) -> str:
        (spec,) = plan_realtime.queries(app.queries()) if realtime else app.queries()
        compile(
            spec, lambda node: kafka.read(spark, node.source, Connection("127.0.0.1:1"), batch=1000), realtime=realtime
        ).rows.explain()
        return capsys.readouterr().out

    batches, realtime = plan(realtime=False), plan(realtime=True)
    assert batches.count("Block headrace_gather(") == realtime.count("Generate headrace_gather(") == 2
    assert batches.count("Block headrace_scatter(") == realtime.count("Generate headrace_scatter(") == 1
    assert "Generate" not in batches
