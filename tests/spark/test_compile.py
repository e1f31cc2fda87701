"""Every verb on a real Spark, and what Spark refuses, told at the user's line."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame

import headrace as hr
from headrace.errors import BadRecord, PlanError, RunError, SetupError
from headrace.testing import Driver, at

Drive = Callable[[hr.App], Driver]
SCHEMA = "k string, v int, tags array<string>, at timestamp"


@hr.udf("int")
def doubled(v: int) -> int:
    return 2 * v


@hr.udf("int")
def plus_one(v: pd.Series) -> pd.Series:
    return v + 1


@hr.udf("int")
def squared(v: pa.Array) -> pa.Array:
    return pc.multiply(v, v)


def test_the_stateless_verbs_do_what_they_say(drive: Drive) -> None:
    app = hr.App("verbs")
    stream = app.stream("in", schema=SCHEMA, time="at")
    stream.where("v > 1").select("k", "v * 10 as ten", day="date(at)").to("selected")
    stream.with_columns(v="v + 1", w="v * 2").drop("tags", "at").to("with")
    stream.explode("tags", name="tag").select("k", "tag").to("exploded")
    big, middle, rest = stream.select("k", "v").split("v > 3", "v > 1")
    big.to("big")
    middle.to("middle")
    rest.to("rest")
    big.merge(rest).to("merged")
    stream.where("v is not null").select("k", d="doubled(v)", p="plus_one(v)", s="squared(v)").to("functions")
    stream.select("k", offset="_offset", topic="_topic", key="_key", time="_time").to("hidden")

    def twice(rows: DataFrame) -> DataFrame:
        return rows.selectExpr("k", "v * 2 as w", "_time")

    stream.apply(twice, columns=["k", "w"]).to("applied")
    stream.key_by("k", "v").select("k", "v").to("two-keys")
    stream.key_by("at").select("at").to("time-key")
    t = drive(app)
    t.feed(
        "in",
        [
            {"k": "a", "v": 1, "tags": ["x", "y"], "at": at("10:00:00")},
            {"k": "b", "v": 2, "tags": [], "at": at("10:00:01")},
            {"k": "c", "v": 4, "tags": ["z"], "at": at("10:00:02")},
            {"k": "d", "v": None, "tags": None, "at": at("10:00:03")},
        ],
        key="k",
    ).run()
    assert t.rows("selected") == [{"k": "b", "ten": 20, "day": "2024-01-01"}, {"k": "c", "ten": 40, "day": "2024-01-01"}]
    assert t.rows("with")[0] == {"k": "a", "v": 2, "w": 2}
    assert [(r["k"], r["tag"]) for r in t.rows("exploded")] == [("a", "x"), ("a", "y"), ("c", "z")]
    assert [[r["k"] for r in t.rows(topic)] for topic in ("big", "middle", "rest")] == [["c"], ["b"], ["a", "d"]]
    assert sorted(r["k"] for r in t.rows("merged")) == ["a", "c", "d"]
    assert t.rows("functions") == [
        {"k": "a", "d": 2, "p": 2, "s": 1},
        {"k": "b", "d": 4, "p": 3, "s": 4},
        {"k": "c", "d": 8, "p": 5, "s": 16},
    ]
    assert t.rows("hidden")[1] == {"k": "b", "offset": 1, "topic": "in", "key": "b", "time": at("10:00:01")}
    assert t.rows("applied")[0] == {"k": "a", "w": 2}
    assert next(iter(t.table("two-keys"))) == '{"k":"a","v":1}'
    assert next(iter(t.table("time-key"))) == "2024-01-01T10:00:00.000000Z"


def test_text_and_bytes_are_one_column_and_invalid_text_is_bad(drive: Drive) -> None:
    app = hr.App("formats")
    app.stream("text", format="text", bad="skip").select("upper(value) as u").to("upper")
    app.stream("strict", format="text", bad="fail").to("strictly")
    app.stream("bytes", format="bytes").select("hex(value) as h").to("hex")
    t = drive(app)
    t.feed("text", ["grüße", b"\xff\xfe", None]).feed("bytes", [b"\x00\xff", None]).run()
    assert [row["u"] for row in t.rows("upper")] == ["GRÜSSE", None]
    assert t.total("upper").bad == 1
    assert [row["h"] for row in t.rows("hex")] == ["00FF", None]
    t.feed("strict", [b"\xff"])
    with pytest.raises(BadRecord, match="topic strict, partition 0, offset 0: invalid UTF-8"):
        t.run()


def test_an_event_without_its_time_is_a_bad_record(drive: Drive) -> None:
    app = hr.App("timeless")
    app.stream("in", schema="k string, v int not null, at timestamp", time="at", bad="skip").to("out")
    t = drive(app)
    t.feed("in", [{"k": "a", "v": 1, "at": "10:00:00"}, {"k": "b", "v": 2}, {"k": "c", "at": "10:00:00"}]).run()
    assert [row["k"] for row in t.rows("out")] == ["a"]
    assert t.total("out").bad == 2


def test_dedupe_keeps_the_first_of_equal_events_however_input_is_split(drive: Drive) -> None:
    app = hr.App("dedupe")
    stream = app.stream("in", schema="k string, v int, at timestamp", time="at", lateness="10 seconds")
    stream.dedupe("k").to("ever")
    stream.dedupe("k", within="1 minute").to("within")
    stream.dedupe("k", within="1 minute").window(hr.tumbling("1 hour"), emit="final").count().to("counted")
    chance = random.Random(7)
    keys = [f"k{chance.randint(0, 40)}" for _ in range(200)]
    t = drive(app)
    for part in range(4):
        rows = [{"k": k, "v": i, "at": at("10:00:00")} for i, k in enumerate(keys)][part * 50 : part * 50 + 50]
        t.feed("in", rows).run()
        if part == 2:
            t.crash()
    assert sorted(row["k"] for row in t.rows("ever")) == sorted(set(keys))
    assert sorted(row["k"] for row in t.rows("within")) == sorted(set(keys))
    t.advance("3 hours")
    t.feed("in", [{"k": keys[0], "v": 0, "at": at("14:00:00")}]).run()
    assert len(t.rows("ever")) == len(set(keys))
    assert len(t.rows("within")) == len(set(keys)) + 1, "a minute is over: it counts as new"
    assert [row["count"] for row in t.rows("counted")] == [len(set(keys))]


def compiled(build: Callable[[hr.Stream], Any]) -> None:
    app = hr.App("mistakes")
    build(app.stream("in", schema=SCHEMA, time="at", lateness="1 second")).to("out")
    Driver(app).close()


def lower(text: str) -> str:
    return text


lower = hr.udf("string")(lower)  # type: ignore[assignment]

MISTAKES: dict[str, tuple[Callable[[hr.Stream], Any], str]] = {
    "a wrong type": (lambda s: s.where("tags > 3"), "tags"),
    "a condition that is none": (lambda s: s.where("v + 1"), "BOOLEAN"),
    "a function nobody knows": (lambda s: s.select("k", x="upperr(k)"), "upperr"),
    "a function with too many arguments": (lambda s: s.select("k", x="upper(k, v)"), "upper"),
    "broken text": (lambda s: s.where("v >"), "v >"),
    "an aggregate where none can be": (lambda s: s.where("sum(v) > 3"), "sum(v)"),
    "no aggregate where one must be": (lambda s: s.key_by("k").agg(x="v + 1"), "v"),
    "exploding no array": (lambda s: s.explode("v", name="x"), "explode"),
    "a join of different types": (
        lambda s: s.select("k").join(s.select(k="v"), on="k", within="1 minute"),
        "is string on the left and int on the right",
    ),
    "an apply that returns nothing": (lambda s: s.apply(lambda rows: None), "not a DataFrame"),
    "an apply that drops the time": (lambda s: s.apply(lambda rows: rows.select("k")), "_time"),
    "a function named like one of Spark's": (lambda s: s.select("k", x="lower(k)"), "Spark's own"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_spark_refuses_is_reported_at_the_users_line(mistake: str, spark: Any) -> None:
    build, words = MISTAKES[mistake]
    with pytest.raises(PlanError) as caught:
        compiled(build)
    text = str(caught.value)
    assert words in text
    assert caught.value.where is not None
    assert caught.value.where.file.endswith("test_compile.py")
    assert len(caught.value.message.splitlines()) == 1
    assert "SQLSTATE" not in text
    assert "org.apache" not in text


def test_names_may_hold_spaces_dots_backticks_and_keywords(drive: Drive) -> None:
    app = hr.App("odd-names")
    schema = "`a b` string, `x.y` int, order int, `q``t` string, at timestamp"
    stream = app.stream("in", schema=schema, time="at", lateness="1 second")
    stream.with_columns(z="`x.y` + `order`").drop("at").to("with")
    stream.key_by("a b").agg(n="sum(`x.y`)").to("running")
    stream.key_by("x.y", "q`t").window(hr.tumbling("1 second")).count().to("window")
    stream.dedupe("x.y", within="1 minute").drop("x.y", "at").to("dedupe")
    stream.select("`a b`", one="order").join(stream.select("`a b`", two="order"), on="a b", within="1 second").to("join")
    t = drive(app).feed("in", [{"a b": "k", "x.y": 1, "order": 2, "q`t": "z", "at": at("10:00:00")}]).run()
    assert t.rows("with") == [{"a b": "k", "x.y": 1, "order": 2, "q`t": "z", "z": 3}]
    assert t.rows("running") == [{"a b": "k", "n": 1}]
    assert (t.rows("window")[0]["x.y"], t.rows("window")[0]["q`t"]) == (1, "z")
    assert t.rows("dedupe") == [{"a b": "k", "order": 2, "q`t": "z"}]
    assert t.rows("join") == [{"a b": "k", "one": 2, "two": 2}]


def test_a_record_that_can_not_be_decoded_is_a_dead_letter_and_the_rest_flows_on(drive: Drive) -> None:
    app = hr.App("letters")
    # The condition is on a column that a bad record does not have: it must not be asked first.
    app.stream("numbers", schema="n int").where("n is not null and n > 1").to("out")
    t = drive(app)
    t.feed("numbers", [{"n": 1}, b"{", {"n": 2}, b'{"n": "x"}']).run()
    assert [row["n"] for row in t.rows("out")] == [2]
    assert [(letter.topic, letter.offset, letter.operator) for letter in t.dead()] == [
        ("numbers", 1, "decode numbers"),
        ("numbers", 3, "decode numbers"),
    ]
    t.crash().run()
    assert len(t.dead()) == 2


@hr.udf("int")
def careful(n: int) -> int:
    if n == 3:
        raise ValueError("no threes")
    return n * 10


@hr.udf("int")
def careful_series(n: pd.Series) -> pd.Series:
    if (n == 3).any():
        raise ValueError("no threes")
    return n * 10


@hr.udf("int")
def careful_arrays(n: pa.Array) -> pa.Array:
    if 3 in n.to_pylist():
        raise ValueError("no threes")
    return pc.multiply(n, 10)


@pytest.mark.parametrize("function", ["careful", "careful_series", "careful_arrays"])
def test_a_row_on_which_a_function_fails_is_a_dead_letter(drive: Drive, function: str) -> None:
    app = hr.App("careful")
    numbers = app.stream("numbers", schema="n int")
    numbers.select("n", f"{function}(n) + {function}(n + 1) as x").where(f"{function}(n) >= 0").to("out")
    t = drive(app)
    t.feed("numbers", [{"n": n} for n in range(6)]).run()
    assert [(row["n"], row["x"]) for row in t.rows("out")] == [(0, 10), (1, 30), (4, 90), (5, 110)]
    assert sorted(letter.offset for letter in t.dead()) == [2, 3]
    assert t.total("out").bad == 2
    assert {letter.cause for letter in t.dead()} == {"ValueError: no threes"}
    assert all(f"{function}() at " in letter.operator for letter in t.dead())


def test_a_function_without_pandas_names_the_command_that_installs_it(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    app = hr.App("careful")
    app.stream("numbers", schema="n int").select("careful(n) as x").to("out")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SetupError, match="Python functions need pandas, which is not installed") as error:
        drive(app)
    assert error.value.fix == "pip install 'headrace[pandas]'"


@hr.udf("int")
def mistaken(n: int) -> Any:
    return {1: "one", 2: 2**40, 3: [3], 4: "4", 5: 5.0, 6: 6.5, 7: None}.get(n, n)


@hr.udf("string")
def mistaken_text(n: int) -> Any:
    return {1: "\ud800", 2: 2}.get(n, "é")


@hr.udf("array<int>")
def mistaken_list(n: int) -> Any:
    return 1 if n == 1 else [n]


@hr.udf("int")
def mistaken_series(n: pd.Series) -> pd.Series:
    return n.map(lambda x: "one" if x == 1 else x)


@hr.udf("int")
def mistaken_arrays(n: pa.Array) -> pa.Array:
    return pa.array(["one" if x == 1 else str(x) for x in n.to_pylist()])


@hr.udf("int")
def shorter(n: pd.Series) -> pd.Series:
    return n[:1]


def test_a_row_on_which_a_function_returns_another_type_is_a_dead_letter(drive: Drive) -> None:
    app = hr.App("mistaken")
    numbers = app.stream("numbers", schema="n int")
    names = ("mistaken", "mistaken_text", "mistaken_list", "mistaken_series", "mistaken_arrays")
    for name in names:
        numbers.select("n", f"{name}(n) as x").to(name)
    t = drive(app)
    t.feed("numbers", [{"n": n} for n in range(8)]).run()
    found = {name: {row["n"]: row["x"] for row in t.rows(name)} for name in names}
    assert found["mistaken"] == {0: 0, 4: 4, 5: 5, 7: None}
    assert found["mistaken_text"] == {2: "2", **dict.fromkeys((0, 3, 4, 5, 6, 7), "é")}
    assert found["mistaken_list"] == {n: [n] for n in (0, 2, 3, 4, 5, 6, 7)}
    assert found["mistaken_series"] == found["mistaken_arrays"] == {n: n for n in (0, 2, 3, 4, 5, 6, 7)}
    causes = {letter.cause for letter in t.dead()}
    assert "TypeError: mistaken() returned 'one', of type str; it is declared to return int" in causes
    assert "TypeError: mistaken_list() returned 1, of type int; it is declared to return array<int>" in causes
    assert {t.total(name).bad for name in names[1:]} == {1}


def test_a_function_of_batches_that_returns_too_few_values_stops_the_query(drive: Drive) -> None:
    app = hr.App("shorter")
    app.stream("numbers", schema="n int").select("shorter(n) as x").to("out")
    t = drive(app)
    t.feed("numbers", [{"n": n} for n in range(3)])
    with pytest.raises(RunError, match=r"shorter\(\) returned 1 values for 3 rows"):
        t.run()


def test_a_function_that_fails_behind_an_aggregate_stops_the_query(drive: Drive) -> None:
    app = hr.App("careful")
    app.stream("numbers", schema="n int").key_by("n").agg(m="max(n)").select("n", "careful(m) as x").to("out")
    t = drive(app)
    t.feed("numbers", [{"n": 3}])
    with pytest.raises(RunError, match="no threes"):
        t.run()
