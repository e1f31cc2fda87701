"""A row on which an expression fails is a dead letter, or what `bad=` says, wherever the record can still be told."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import BadRecord, RunError
from headrace.spark import jvm
from headrace.testing import Driver, at

Drive = Callable[[hr.App], Driver]

FAILING = {
    "cast(s as int)": 'The value \'x\' of the type "STRING" cannot be cast to "INT"',
    "n / (n - 3)": "Division by zero",
    "n % (n - 3)": "by zero",
    "array(1, 2, 3)[cast(n as int)]": "The index 3 is out of bounds",
    "element_at(array(1, 2), cast(n as int))": "The index 3 is out of bounds",
    "cast(n as int) + 2147483645": "overflow",
    "cast(n * 50 as tinyint)": "overflow",
    "to_timestamp(s, 'd')": "x",
    "date(concat('2024-01-0', s))": "2024-01-0x",
    "if(n = 3, raise_error('no threes'), n)": "no threes",
    "assert_true(n <> 3)": "is not true",
    "n = s": "cannot be cast",
    "make_date(2024, cast(n * 5 - 2 as int), 1)": "MonthOfYear",
    "transform(array(s), x -> cast(x as int))": "cannot be cast",
    "s rlike p": "",
}
ROWS = [{"n": n, "s": "x" if n == 3 else str(n), "p": "(" if n == 3 else "1"} for n in (1, 2, 3, 2)]
SCHEMA = "n long, s string, p string"


def test_a_row_on_which_an_expression_fails_is_a_dead_letter(drive: Drive) -> None:
    app = hr.App("guard")
    stream = app.stream("in", schema=SCHEMA)
    for i, text in enumerate(FAILING):
        stream.select("n", f"{text} as x", f"{text} as y", "upper(s) as u").to(f"out-{i}")
    t = drive(app)
    t.feed("in", ROWS).run()
    for i, text in enumerate(FAILING):
        assert [row["n"] for row in t.rows(f"out-{i}")] == [1, 2, 2], text
        assert (t.total(f"out-{i}").rows_out, t.total(f"out-{i}").bad) == (3, 1), text
    causes = [letter.cause for letter in t.dead()]
    assert {letter.offset for letter in t.dead()} == {2}
    assert all(any(cause in found for found in causes) for cause in FAILING.values())
    assert not any("SQLSTATE" in cause or cause.startswith("[") or "spark." in cause or "\n" in cause for cause in causes)
    assert all(letter.operator.startswith("project at ") for letter in t.dead())


@hr.udf("int")
def plus_one(n: int | None) -> int | None:
    return None if n is None else n + 1


def test_it_is_so_for_every_verb_and_what_is_not_computed_does_not_fail(drive: Drive) -> None:
    app = hr.App("verbs")
    stream = app.stream("in", schema=SCHEMA + ", at timestamp", time="at", lateness="0 seconds")
    good = {
        "where": stream.where("cast(s as int) > 0"),
        "with": stream.with_columns(x="cast(s as int)"),
        "explode": stream.explode("array(cast(s as int))", name="x"),
        "keyed": stream.key_by(k="cast(s as int)"),
        "called": stream.select("n", "plus_one(cast(s as int)) + cast(plus_one(1) as int) as x"),
        "after": stream.where("n > 0").select("n", "s").with_columns(x="cast(s as int)").where("x > 0"),
        "merged": stream.merge(stream.where("false")).with_columns(x="cast(s as int)"),
        "case": stream.where("n <> 3").with_columns(x="case when s <> 'x' then cast(s as int) end"),
        "lazy": stream.where("s = 'x' or cast(s as int) > 0").where("n <> 3").with_columns(x="coalesce(n, cast(s as int))"),
    }
    for name, rows in good.items():
        rows.to(name)
    ones, rest = stream.split("cast(s as int) = 1")
    ones.to("ones")
    rest.to("rest")
    stream.key_by("n").agg(x="sum(cast(s as int))", y="max(n / (n - 3))").to("totals")
    stream.key_by("n").agg(x="sum(cast(s as int)) filter (where s <> 'x')", c="count_if(s <> 'x')").to("some")
    window = stream.key_by("n").window(hr.tumbling("1 minute"), emit="final")
    window.agg(x="sum(cast(s as int)) + 1", first="min_by(s, cast(s as int))").to("windows")
    stream.key_by("n").window(hr.sliding("1 minute")).agg(x="sum(cast(s as int))").to("sliding")
    stream.key_by("n").window(hr.cumulating("1 minute", every="30 seconds")).agg(x="sum(cast(s as int))").to("cumulating")
    table = app.table("rows", schema="id long, s string", key="id")
    table.where("cast(s as int) > 0").with_columns(x="cast(s as int)").to("table")
    newest = stream.where("s <> 'x'").with_columns(x="cast(s as int)").as_table(key="n")
    stream.with_columns(mine="cast(s as int)").join(newest.select("n", "x"), on="n").to("joined")
    t = drive(app)
    t.feed("in", [{**row, "at": at(f"10:00:0{i}")} for i, row in enumerate(ROWS)])
    t.feed("rows", [{"id": 1, "s": "1"}, {"id": 2, "s": "x"}, {"id": 3, "s": "x"}, {"id": 1, "s": "x"}, {"id": 3, "s": "3"}])
    t.advance(to="10:05").run()
    for name in good:
        assert [row["n"] for row in t.rows(name)] == [1, 2, 2], name
    assert [row["x"] for row in t.rows("called")] == [4, 5, 5]
    assert [row["n"] for row in t.rows("ones")] == [1]
    assert [row["n"] for row in t.rows("rest")] == [2, 2]
    assert {key: row["x"] for key, row in t.table("totals").items()} == {"1": 1, "2": 4}
    assert {key: (row["x"], row["c"]) for key, row in t.table("some").items()} == {"1": (1, 1), "2": (4, 2), "3": (None, 0)}
    assert {row["n"]: (row["x"], row["first"]) for row in t.rows("windows")} == {1: (2, "1"), 2: (5, "2")}
    assert {row["n"] for name in ("sliding", "cumulating") for row in t.rows(name)} == {1, 2}
    assert {key: row["x"] for key, row in t.table("table").items()} == {"1": 1, "3": 3}
    assert sorted(letter.offset for letter in t.dead() if letter.topic == "rows") == [1, 2, 3]
    assert sorted((row["n"], row["mine"], row["x"]) for row in t.rows("joined")) == [(1, 1, 1), (2, 2, 2), (2, 2, 2)]
    bad = {name: t.total(name).bad for name in ("where", "explode", "called", "totals", "windows", "sliding", "cumulating")}
    assert bad == dict.fromkeys(bad, 1)
    assert {t.total(name).bad for name in ("case", "lazy", "some")} == {0}


def test_bad_is_what_the_source_says(drive: Drive) -> None:
    app = hr.App("policies")
    sources = [app.stream(bad, schema="s string", bad=bad) for bad in ("dead", "skip", "fail")]
    sources[0].merge(*sources[1:]).select("cast(s as int) as x").to("out")
    sources[1].where("cast(s as int) > 0").to("skipped")
    t = drive(app)
    t.feed("dead", [{"s": "1"}, {"s": "x"}]).feed("skip", [{"s": "y"}, {"s": "2"}]).feed("fail", [{"s": "3"}]).run()
    assert sorted(row["x"] for row in t.rows("out")) == [1, 2, 3]
    assert [row["s"] for row in t.rows("skipped")] == ["2"]
    assert [(letter.topic, letter.offset) for letter in t.dead()] == [("dead", 1)]
    assert (t.total("out").bad, t.total("skipped").bad) == (2, 1)
    t.feed("fail", [{"s": "4"}, {"s": "z"}])
    with pytest.raises(BadRecord) as e:
        t.run()
    assert e.value.message.startswith("query 'out' fails on a record: topic fail, partition 0, offset 2: The value 'z'")
    assert e.value.where is not None
    assert e.value.fix == ('headrace peek fail --partition 0 --from 2 -n 1 shows it; bad="dead" keeps such records and goes on')


def test_a_sum_that_overflows_ends_the_run_at_its_line(drive: Drive) -> None:
    app = hr.App("sums")
    app.stream("in", schema="k string, n long").key_by("k").agg(x="sum(n)").to("out")
    t = drive(app)
    t.feed("in", [{"k": "a", "n": 2**63 - 1}, {"k": "a", "n": 1}])
    with pytest.raises(RunError, match="overflow") as e:
        t.run()
    assert e.value.where is not None
    assert "agg(" in e.value.where.code
    assert "try_sum" in (e.value.fix or "")


def test_a_row_of_a_table_that_fails_behind_an_operator_is_named_by_its_key(drive: Drive) -> None:
    app = hr.App("changes")
    totals = app.table("in", schema="id long, k string, n long", key="id").key_by("k").agg(total="sum(n)")
    totals.with_columns(x="100 / total").to("out")
    t = drive(app)
    t.feed("in", [{"id": 1, "k": "a", "n": 1}, {"id": 2, "k": "b", "n": 0}])
    with pytest.raises(RunError) as e:
        t.run()
    assert 'fails on the row with the key {"k":"b"}: Division by zero' in e.value.message
    assert e.value.where is not None
    assert "with_columns" in e.value.where.code


def test_what_can_not_fail_is_left_as_it_is_and_the_rest_stays_in_generated_code(drive: Drive) -> None:
    app = hr.App("plans")
    app.stream("in", schema="n long, d double, s string").to("out")
    t = drive(app)
    frame = t._compiled["out"].rows  # pyright: ignore[reportPrivateUsage]
    harmless = [
        "n > 1 and s is not null",
        "d * 2 + n",
        "upper(s)",
        "cast(n as string)",
        "case when d > 1 then n end",
        "try_cast(s as int)",
    ]
    assert jvm.guards(frame, [F.expr(text) for text in harmless], "_guard_")[0] == []
    risky = ["n + 1", "d / 2", "cast(s as int)", "element_at(array(n), 1)"]
    assert len(jvm.guards(frame, [F.expr(text) for text in risky], "_guard_")[0]) == len(risky) + 1
