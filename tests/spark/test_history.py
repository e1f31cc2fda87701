"""What keeps every version of a computed table, against plain Python: the same answer wherever the batches begin and end."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import headrace as hr
from headrace.testing import Driver, at
from tests.spark.histories import Record, Row, assert_same, new_seed, play, split

START = at("10:00:00")
HISTORIES, LATENESS = 40, timedelta(seconds=8)
ITEMS = "h int, id string, g string, x int, at timestamp"
GROUPS = "h int, gid string, title string, at timestamp"
ASKS = "i int, h int, id string, g string, at timestamp"


def moment(chance: random.Random) -> datetime:
    """One of few, so that some are the same, and some are a microsecond apart."""
    return START + timedelta(microseconds=chance.randrange(0, 60_000_000, 500_000) + chance.randrange(2))


def histories(chance: random.Random) -> list[Record]:
    """Records of all histories as they come: out of order by less than the lateness."""
    coming: list[tuple[datetime, Record]] = []

    def come(topic: str, row: Row, key: Any = None) -> None:
        coming.append((row["at"] + LATENESS * chance.random() * 0.99, Record(topic, key, row)))

    for h in range(HISTORIES):
        for i in range(14):
            row: Row = {"h": h, "id": f"{h}-{chance.randrange(4)}", "g": f"{chance.choice('ab')}", "at": moment(chance)}
            come("items", {**row, "x": chance.randint(-1, 4)})
            come("asks", {"i": i, **row, "at": moment(chance)})
        for _ in range(5):
            row = {"h": h, "gid": chance.choice("ab"), "title": chance.choice("st"), "at": moment(chance)}
            come("groups", row)
            if chance.random() < 0.3:
                coming.append((row["at"], Record("groups", {"h": h, "gid": row["gid"]}, None)))
    return [record for _, record in sorted(coming, key=lambda each: each[0])]


class Version(NamedTuple):
    """A row, or its absence, from a time on."""

    topic: str
    key: str
    time: datetime
    row: Row | None


def logs(records: Iterable[Record]) -> dict[int, list[Version]]:
    """What happened in each history, in the order of the log. A delete has the log's time: the latest of any event so far."""
    now = START
    found: dict[int, list[Version]] = {h: [] for h in range(HISTORIES)}
    for record in records:
        fields = record.row or record.key
        now = max(now, fields.get("at", now))
        found[fields["h"]].append(Version(record.topic, fields.get("id") or fields["gid"], fields.get("at", now), record.row))
    return found


def as_of(log: Iterable[Version], topic: str, time: datetime) -> list[Row]:
    """The rows of a table at a time: of each key the one with the latest time up to it, of equal ones the later in the log."""
    known: dict[str, Version] = {}
    for version in log:
        if version.topic == topic and version.time <= time:
            known[version.key] = max(known.get(version.key, version), version, key=lambda each: each.time)
            if known[version.key].time == version.time:
                known[version.key] = version
    return [version.row for version in known.values() if version.row is not None]


def totals(rows: Iterable[Row]) -> dict[str, Row]:
    """By group: how many, the sum, and the id of the highest."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["g"], []).append(row)
    return {
        g: {"n": len(some), "total": sum(row["x"] for row in some), "best": max((row["x"], row["id"]) for row in some)[1]}
        for g, some in groups.items()
    }


def answers(log: Sequence[Version]) -> Iterator[tuple[str, Row]]:
    """Each ask with the tables computed anew, from the rows that are valid at its time."""
    for ask in (version.row for version in log if version.topic == "asks" and version.row):
        live = [row for row in as_of(log, "items", ask["at"]) if row["x"] > 0]
        known = totals(live)
        group, most = known.get(ask["g"]), max((group["total"] for group in known.values()), default=None)
        titles = {row["gid"]: row["title"] for row in as_of(log, "groups", ask["at"])}
        mine = next((row for row in live if row["id"] == ask["id"]), None)
        asked = {"i": ask["i"], "h": ask["h"]}
        yield "sizes", {**asked, "groups": len(known) or None, "most": most}
        if group:
            yield "titled", {**asked, "n": group["n"], "best": group["best"], "title": titles.get(ask["g"])}
        yield "shares", {**asked, "x": mine and mine["x"], "of": mine and known[mine["g"]]["total"]}


def test_a_join_as_of_event_time_sees_computed_tables_as_they_were_then_wherever_batches_end() -> None:
    seed = new_seed()
    app = hr.App("as-of-computed")
    asks = app.stream("asks", schema=ASKS, time="at", lateness=LATENESS).drop("at")
    items = app.stream("items", schema=ITEMS, time="at", lateness=LATENESS).drop("at")
    groups = app.table("groups", key=("h", "gid"), schema=GROUPS, time="at", lateness=LATENESS).drop("at")
    live = items.as_table(key="id").where("x > 0")
    by_group = live.key_by("h", "g").agg(n="count(*)", total="sum(x)", best="max_by(id, struct(x, id))")
    sizes = by_group.key_by("h").agg(groups="count(*)", most="max(total)")
    titled = by_group.join(groups, on={"h": "h", "g": "gid"}, how="left").drop("total")
    # Each change of an item comes to this join twice: as a row, and as the sum of its group.
    shares = live.join(by_group.select("h", "g", "total"), on=("h", "g")).select("id", "x", of="total")
    of: dict[str, Any] = {"as_of": "event_time", "history": "0 seconds"}
    asks.select("i", "h").join(sizes, on="h", how="left", **of).to("sizes")
    asks.select("i", "h", "g").join(titled, on=("h", "g"), **of).drop("g").to("titled")
    asks.select("i", "h", "id").join(shares, on="id", how="left", **of).drop("id").to("shares")
    chance = random.Random(seed)
    records = histories(chance)
    expected = [row for log in logs(records).values() for row in answers(log)]
    with Driver(app) as driver:
        # Half of the time all is in one batch, but for a last one that is repeated.
        play(driver, split(records, chance, 4) if chance.random() < 0.5 else [records, []], chance)
        driver.advance("1 minute")
        for topic in ("sizes", "titled", "shares"):
            assert_same(driver.rows(topic), (row for name, row in expected if name == topic), topic)
            assert driver.total(topic).stale == driver.total(topic).late == 0


def computed(rows: Sequence[Row]) -> dict[str, dict[Any, Row]]:
    """The tables whose changes are looked at, computed anew, by topic and key."""
    by_group = totals(rows)
    most = max((row["total"] for row in by_group.values()), default=None)
    return {
        "groups": {g: {"g": g, **row} for g, row in by_group.items()},
        "all": {None: {"groups": len(by_group), "most": most}},
        "shares": {row["id"]: {"id": row["id"], "x": row["x"], "of": by_group[row["g"]]["total"]} for row in rows},
    }


def test_changes_of_a_computed_table_are_those_of_every_record_wherever_batches_end() -> None:
    seed = new_seed()
    app = hr.App("changes-of-computed")
    items = app.table("items", key="id", schema=ITEMS, time="at")
    by_group = items.key_by("g").agg(n="count(*)", total="sum(x)", best="max_by(id, struct(x, id))")
    by_group.changes().with_columns(t="_time").to("groups")
    by_group.agg(groups="count(*)", most="max(total)").changes().with_columns(t="_time").to("all")
    totaled = items.join(by_group.select("g", "total"), on="g", how="left").select("id", "x", of="total")
    totaled.changes().with_columns(t="_time").to("shares")
    chance = random.Random(seed)
    records: list[Record] = []
    expected: dict[tuple[str, Any], list[Row]] = {}
    rows: dict[str, Row] = {}
    now, before = START, dict[str, dict[Any, Row]]()
    for _ in range(300):
        h = chance.randrange(20)
        row: Row = {"h": h, "id": f"{h}-{chance.randrange(3)}", "g": f"{h}-{chance.choice('ab')}", "x": chance.randint(1, 4)}
        row["at"] = moment(chance)
        deleted = chance.random() < 0.25
        records.append(Record("items", row["id"], None if deleted else row))
        time = now = now if deleted else max(now, row["at"])
        if deleted:
            rows.pop(row["id"], None)
        else:
            time, rows[row["id"]] = row["at"], row
        after = computed(list(rows.values())) if rows or before else {}
        for topic in after:
            was, is_ = before.get(topic, {}), after[topic]
            for key in {**was, **is_}:
                if was.get(key) != is_.get(key):
                    op = "insert" if key not in was else "update" if key in is_ else "delete"
                    change = {"op": op, "before": was.get(key), "after": is_.get(key), "t": time}
                    expected.setdefault((topic, key), []).append(change)
        before = after
    with Driver(app) as driver:
        play(driver, split(records, chance, 4) if chance.random() < 0.5 else [records, []], chance)
        found: dict[tuple[str, Any], list[Row]] = {}
        for topic, key in (("groups", "g"), ("all", None), ("shares", "id")):
            for row in driver.rows(topic):
                found.setdefault((topic, row.pop(key) if key else None), []).append(row)
    assert found.keys() == expected.keys()
    for key, changes in expected.items():
        assert found[key] == changes, key
