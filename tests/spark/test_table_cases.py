"""Cases of tables that were wrong once, side by side in one run of three steps."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.errors import PlanError
from headrace.testing import Driver


def test_what_goes_by_time_is_taken_back_with_the_time_it_came_with() -> None:
    app = hr.App("times")
    s = app.table("s", key="id", schema="id string, g string, x int, at timestamp", time="at")
    s.key_by("g").agg(n="count(*)", l="collect_list(x)", last="last(x)").to("again")
    t = app.table("t", key="id", schema="id string, g string, x int, tag string")
    j = app.table("j", key="id", schema="id string, y int")
    t.join(j, on="id", how="left").select("id", "g", "x").key_by("g").agg(n="count(*)", l="collect_list(x)").to("selected")
    t.key_by("g").agg(many="count(*) > 1").key_by("many").agg(n="count(*)", l="collect_list(g)").to("twice")
    t.join(j, on="id", how="left").key_by("g").agg(l="collect_list(coalesce(y, x))").to("gone")
    with Driver(app) as d:
        d.feed("s", [{"id": "a", "g": "G", "x": 1, "at": "10:00:00"}, {"id": "b", "g": "G", "x": 2, "at": "10:00:01"}])
        d.feed("t", [{"id": name, "g": group, "x": i, "tag": "t"} for group in "GH" for i, name in enumerate(group + "abc")])
        d.feed("j", [{"id": "a", "y": 7}]).advance("1 second")
        d.feed("s", [{"id": "a", "g": "G", "x": 1, "at": "10:00:05"}])
        d.feed("t", [{"id": "G", "g": "G", "x": 0, "tag": "u"}]).delete("j", "a").advance("1 second")
        assert d.table("again")["G"] == {"g": "G", "n": 2, "l": [2, 1], "last": 1}
        d.delete("s", "a").delete("t", "G", "a").run()
        assert d.table("again")["G"] == {"g": "G", "n": 1, "l": [2], "last": 2}
        assert d.table("selected") == {"H": {"g": "H", "n": 3, "l": [0, 2, 3]}}
        assert d.table("twice") == {"true": {"many": True, "n": 1, "l": ["H"]}}
        assert d.table("gone") == {"H": {"g": "H", "l": [0, 2, 3]}}


def test_an_event_sees_the_table_as_of_its_arrival_whatever_the_clocks_of_either_say() -> None:
    app = hr.App("arrival")
    e = app.stream("e", schema="k string, i int, at timestamp", time="at").select("k", "i")
    u = app.table("u", key="k", schema="k string, name string, at timestamp", time="at").drop("at")
    v = app.table("v", key="k", schema="k string, other string")
    e.join(u, on="k", how="left").join(v, on="k", how="left").to("o")
    with Driver(app) as d:
        d.feed("u", [{"k": "A", "name": "old", "at": "10:00:00"}]).feed("e", [{"k": "A", "i": 1, "at": "10:00:03"}])
        d.feed("e", [{"k": "A", "i": 2, "at": "10:00:04"}])
        d.feed("u", [{"k": "A", "name": "new", "at": "10:00:01"}]).feed("v", [{"k": "A", "other": "v"}])
        d.feed("e", [{"k": "B", "i": 3, "at": "10:00:06"}, {"k": "A", "i": 4, "at": "10:00:03"}]).run()
        found = {row["i"]: (row["name"], row["other"]) for row in d.rows("o")}
    assert found == {1: ("old", None), 2: ("new", "v"), 3: (None, None), 4: ("new", "v")}


def test_keys_that_are_null_or_look_different() -> None:
    app = hr.App("keys")
    s = app.table("s", key="id", schema="id string, g string, d double")
    s.key_by("d").agg(n="count(*)").to("zeros")
    s.key_by("g").agg(n="count(*)").to("groups")
    events = app.stream("e", schema="g string, n int")
    events.key_by("g").agg(n="sum(n)").where("n > 0").to("running")
    events.agg(n="sum(n)").where("n > 5").to("all")
    events.as_table(key="g", version="n").to("newest")
    with Driver(app) as d:
        d.feed("s", [{"id": "a", "g": None, "d": 0.0}, {"id": "b", "g": "x", "d": -0.0}])
        d.feed("e", [{"g": "x", "n": 1}, {"g": None, "n": 5}, {"g": "y", "n": None}]).run()
        assert [row["n"] for row in d.table("zeros").values()] == [2]
        null = '{"g":null}'
        assert d.table("groups") == {null: {"g": None, "n": 1}, "x": {"g": "x", "n": 1}}
        assert d.table("running") == {null: {"g": None, "n": 5}, "x": {"g": "x", "n": 1}}
        assert d.rows("all") == [{"n": 6}]
        assert d.table("newest") == {"x": {"g": "x", "n": 1}}
        assert d.total("newest").bad == 2
        d.feed("e", [{"g": None, "n": -9}]).run()
        assert d.table("running") == {"x": {"g": "x", "n": 1}}
        assert d.table("all") == {}


def test_a_version_that_is_no_number_is_refused_at_its_line(spark: Any) -> None:
    app = hr.App("versions")
    app.stream("e", schema="g string, n int").as_table(key="g", version="g").to("o")
    with pytest.raises(PlanError) as caught:
        Driver(app)
    assert "the version column 'g' is a string" in caught.value.message


def test_a_query_keeps_its_name_when_its_table_is_also_read_on() -> None:
    app = hr.App("names")
    totals = app.stream("e", schema="g string, n int").key_by("g").count()
    totals.where("count > 5").to("busy")
    totals.to("totals")
    assert sorted(spec.name for spec in app.queries()) == ["busy", "totals"]


def test_a_full_join_on_the_keys_of_both_tables_has_one_row_for_the_null_key(drive: Any) -> None:
    app = hr.App("j")
    left = app.stream("l", schema="k string, v int").key_by("k").agg(a="sum(v)")
    right = app.stream("r", schema="k string, v int").key_by("k").agg(b="sum(v)")
    left.join(right, on="k", how="full").to("out")
    run = drive(app).feed("l", [{"k": None, "v": 1}, {"k": "x", "v": 2}]).feed("r", [{"k": None, "v": 5}]).run()
    assert run.table("out") == {'{"k":null}': {"k": None, "a": 1, "b": 5}, "x": {"k": "x", "a": 2, "b": None}}
