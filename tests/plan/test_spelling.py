"""A name that is not there says what to write instead, at the user's line."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest

import headrace as hr
from headrace.errors import ArgumentError, PlanError, UnknownName
from headrace.plan import habits
from headrace.table import KeyedTable
from headrace.windowed import WindowedStream

SCHEMA = "symbol string, price double, at timestamp"


def stream() -> Any:
    return hr.App("market").stream("trades", schema=SCHEMA, time="at", lateness="10 seconds")


def table() -> Any:
    return hr.App("market").table("prices", key="symbol", schema=SCHEMA)


def windowed() -> Any:
    return stream().window(hr.tumbling("5 minutes"))


MODULE: Any = hr

VERBS: dict[str, tuple[Callable[[], object], str, str]] = {
    "filter": (lambda: stream().filter("price > 1"), "a stream has no 'filter'", 'where("price > 10")'),
    "group_by": (lambda: stream().group_by("symbol"), "a stream has no 'group_by'", 'key_by("symbol")'),
    "groupBy": (lambda: table().groupBy("symbol"), "a table has no 'groupBy'", 'key_by("symbol")'),
    "map": (lambda: stream().map(len), "a stream has no 'map'", '@hr.udf("double")'),
    "withColumn": (lambda: stream().withColumn("x", "1"), "a stream has no 'withColumn'", "with_columns("),
    "selectExpr": (lambda: stream().selectExpr("1"), "a stream has no 'selectExpr'", "select("),
    "flat_map": (lambda: stream().flat_map(len), "a stream has no 'flat_map'", "explode("),
    "foreach": (lambda: stream().foreach(print), "a stream has no 'foreach'", "hr.sinks.call("),
    "to_topic": (lambda: stream().to_topic("x"), "a stream has no 'to_topic'", 'to("topic")'),
    "sink": (lambda: stream().sink("x"), "a stream has no 'sink'", 'to("topic")'),
    "a window that is written": (lambda: windowed().to("x"), "a windowed stream has no 'to'", '.agg(n="count(*)")'),
    "a window that is filtered": (lambda: windowed().filter("x"), "a windowed stream has no 'filter'", "aggregate first"),
    "sum of a window": (lambda: windowed().sum("x"), "a windowed stream has no 'sum'", 'agg(total="sum(price)"'),
    "a group that is written": (lambda: table().key_by("price").to("x"), "a grouped table has no 'to'", "aggregate first"),
    "a table in windows": (lambda: table().window(hr.tumbling("1 s")), "a table has no 'window'", "changes()"),
    "changes of a stream": (lambda: stream().changes(), "a stream has no 'changes'", "as_table(key="),
    "tables merged": (lambda: table().merge(table()), "a table has no 'merge'", "join(other"),
    "a typing mistake": (
        lambda: stream().wher("price > 1"),
        "a stream has no 'wher'",
        "did you mean 'where'? a stream has: agg,",
    ),
    "nothing like it": (lambda: stream().xyzzy, "a stream has no 'xyzzy'", "a stream has: agg, apply,"),
    "a read of an app": (lambda: hr.App("a").read("t"), "an app has no 'read'", "app.stream("),  # type: ignore[attr-defined]
    "a window function": (lambda: MODULE.tumble("1 s"), "headrace has no 'tumble'", "hr.tumbling("),
    "a column function": (lambda: MODULE.col("price"), "headrace has no 'col'", "expressions are SQL text"),
    "a misspelt window": (lambda: MODULE.tumblin("1 s"), "headrace has no 'tumblin'", "did you mean 'tumbling'?"),
    "a sink for topics": (lambda: MODULE.sinks.kafka("x"), "hr.sinks has no 'kafka'", 'to("topic")'),
}


@pytest.mark.parametrize("case", VERBS)
def test_a_verb_that_does_not_exist_names_the_one_that_does(case: str) -> None:
    make, message, fix = VERBS[case]
    with pytest.raises(UnknownName) as caught:
        make()
    assert caught.value.message == message
    assert fix in (caught.value.fix or "")
    assert caught.value.where is not None
    assert caught.value.where.file.endswith("test_spelling.py")


URL = "postgresql://ada:sesame@db/market"
ARGUMENTS: dict[str, tuple[Callable[[], object], str, str]] = {
    "shema": (
        lambda: hr.App("a").stream("t", shema="k string"),  # type: ignore[call-arg]
        "stream() has no argument 'shema'",
        "did you mean schema=? it takes: source, schema=, time=,",
    ),
    "latness": (
        lambda: hr.App("a").stream("t", schema="k string", latness="1 s"),  # type: ignore[call-arg]
        "stream() has no argument 'latness'",
        "did you mean lateness=?",
    ),
    "watermark": (
        lambda: hr.App("a").stream("t", schema="k string", watermark="1 s"),  # type: ignore[call-arg]
        "stream() has no argument 'watermark'",
        "did you mean lateness=?",
    ),
    "sise": (lambda: MODULE.tumbling(sise="1 s"), "tumbling() has no argument 'sise'", "did you mean size=?"),
    "nmae": (lambda: stream().to("x", nmae="q"), "to() has no argument 'nmae'", "did you mean name=? it takes: to, name="),
    "nothing like it": (lambda: stream().to("x", xyzzy=1), "to() has no argument 'xyzzy'", "it takes: to, name=, delivery="),
    "a sink's": (
        lambda: MODULE.sinks.redis("redis://h", prefx="p"),
        "redis() has no argument 'prefx'",
        "did you mean prefix=?",
    ),
    "a udf's": (lambda: MODULE.udf(return_type="int"), "udf() has no argument 'return_type'", "did you mean returns=?"),
    "a schema without its name": (
        lambda: hr.App("a").stream("t", "k string"),  # type: ignore[call-arg]
        "stream() takes 1 positional argument (source), not 2",
        "write stream(source, schema='k string')",
    ),
    "a gap without its name": (
        lambda: MODULE.session("5 minutes"),
        "session() takes named arguments only",
        "write session(gap='5 minutes')",
    ),
    "an aggregate without a name": (
        lambda: stream().agg("sum(price)"),
        "agg() takes named arguments only",
        "write agg(name='sum(price)')",
    ),
    "a missing argument": (lambda: MODULE.hopping("1 minute"), "hopping() needs every=", "it takes: size, every=, offset="),
    "a missing key": (lambda: MODULE.App("a").table("t", schema=SCHEMA), "table() needs key=", "it takes: source, key=,"),
    "an app without a name": (lambda: MODULE.App(), "App() needs name", "it takes: name"),
    "an argument twice": (
        lambda: stream().where("price > 1", condition="x"),
        "where(): multiple values for argument 'condition'",
        "it takes: condition",
    ),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_an_argument_that_does_not_exist_names_the_one_that_does(case: str) -> None:
    make, message, fix = ARGUMENTS[case]
    with pytest.raises(ArgumentError) as caught:
        make()
    assert caught.value.message == message
    assert fix in (caught.value.fix or "")
    assert isinstance(caught.value, TypeError)
    assert caught.value.where is not None
    assert caught.value.where.file.endswith("test_spelling.py")


def test_a_misspelt_argument_shows_no_password() -> None:
    with pytest.raises(PlanError) as caught:
        MODULE.sinks.postgres("postgresql://ada:sesame@db/market", tabel="trades")
    assert "sesame" not in str(caught.value)
    with pytest.raises(PlanError) as caught:
        MODULE.sinks.postgres("postgresql://db/market", "trades", "sesame")
    assert "sesame" not in str(caught.value)


def test_a_type_error_inside_of_a_verb_stays_what_it_is() -> None:
    def broken(self: object) -> None:
        raise TypeError("of its own")

    from headrace.plan import spelling

    with pytest.raises(TypeError, match=r"^of its own$") as caught:
        spelling.arguments(broken)(stream())
    assert not isinstance(caught.value, PlanError)


def test_what_asks_for_names_still_gets_its_answer() -> None:
    trades = stream()
    assert not hasattr(trades, "filter")
    assert getattr(trades, "filter", 7) == 7
    assert not hasattr(hr, "tumble")
    assert not hasattr(trades, "_repr_html_")
    assert not hasattr(trades, "_ipython_canary_method_should_not_exist_")
    assert copy.copy(trades).columns == trades.columns
    assert pickle.loads(pickle.dumps(trades.where("price > 1"))).columns == trades.columns
    assert str(inspect.signature(hr.Stream.where)) == "(self, condition: 'str') -> 'Stream'"
    with pytest.raises(AttributeError, match="__xyzzy__"):
        _ = trades.__xyzzy__


NOUNS = {
    "STREAM": (hr.Stream, habits.STREAM),
    "TABLE": (hr.Table, habits.TABLE),
    "WINDOWED": (WindowedStream, habits.WINDOWED),
    "GROUPED": (KeyedTable, habits.GROUPED),
    "APP": (hr.App, habits.APP),
    "MODULE": (hr, habits.MODULE),
    "SINKS": (hr.sinks, habits.SINKS),
}


@pytest.mark.parametrize("noun", NOUNS)
def test_what_is_to_be_written_instead_exists_and_what_it_replaces_does_not(noun: str) -> None:
    owner, known = NOUNS[noun]
    for name, fix in known.items():
        assert not hasattr(owner, name), name
        wanted = re.match(r"write (?:one\.|app\.|hr\.sinks\.|hr\.)?(\w+)\(", fix)
        assert wanted is None or hasattr(owner, wanted[1]), fix
