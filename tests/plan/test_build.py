"""Mistakes fail at the user's line and name what exists; none of this needs Spark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import headrace as hr
from headrace.errors import PlanError

SCHEMA = "symbol string, price double, qty int, tags array<string>, at timestamp"


def trades(app: hr.App | None = None, **options: str) -> hr.Stream:
    return (app or hr.App("market")).stream("trades", **{"schema": SCHEMA, "time": "at", "lateness": "10 seconds", **options})


def windowed(stream: hr.Stream) -> hr.Stream:
    result = stream.key_by("symbol").window(hr.tumbling("5 seconds"), emit="final").agg(n="count(*)")
    assert isinstance(result, hr.Stream)
    return result


def people(app: hr.App | None = None, **options: Any) -> hr.Table:
    return (app or hr.App("other")).table("people", key="id", schema="id string, name string", **options)


def people_twice() -> hr.Table:
    app = hr.App("market")
    return people(app).join(app.table("more", key="id", schema="id string, name string"), on="id")


def looked_up(**options: Any) -> hr.Stream:
    app = hr.App("market")
    return trades(app).join(people(app), **{"on": {"symbol": "id"}, **options})


def joined(other: str = "k string, amount int", lateness: str | None = "1 s", **options: Any) -> hr.Stream:
    app = hr.App("market")
    left = trades(app).with_columns(k="symbol")
    right = app.stream("orders", schema=other, lateness=lateness)
    return left.join(right, **{"on": "k", "within": "1 minute", **options})


def loop() -> hr.App:
    app = hr.App("market")
    trades(app).where("qty > 1").to("trades")
    return app


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "an unknown column in where": (lambda: trades().where("pric > 3"), "no column 'pric' in the stream 'trades'"),
    "an unknown column in select": (lambda: trades().select("symbol", "volume"), "no column 'volume'"),
    "an unknown column in with_columns": (lambda: trades().with_columns(x="prise * 2"), "did you mean 'price'"),
    "an unknown column in drop": (lambda: trades().drop("x"), "its columns are: symbol, price, qty, tags, at"),
    "an unknown column in key_by": (lambda: trades().key_by("sym"), "no column 'sym'"),
    "an unknown column in agg": (lambda: trades().key_by("symbol").agg(x="sum(amount)"), "no column 'amount'"),
    "an unknown column in explode": (lambda: trades().explode("tag", name="t"), "did you mean 'tags'"),
    "a column that an earlier select left out": (lambda: trades().select("symbol").where("price > 1"), "no column 'price'"),
    "an expression without a name": (lambda: trades().select("price * qty"), "needs a name"),
    "an expression that is no text": (lambda: trades().where(3), "is not an expression"),  # type: ignore[arg-type]
    "two columns of one name": (lambda: trades().select("symbol", symbol="'x'"), "two columns would be called 'symbol'"),
    "a column of our own": (lambda: trades().with_columns(_x="1"), "Headrace's own"),
    "a missing schema": (lambda: hr.App("a").stream("t"), "has no schema"),
    "an empty schema": (lambda: hr.App("a").stream("t", schema=" "), "the schema is empty"),
    "a field without a type": (lambda: hr.App("a").stream("t", schema="a int, b"), "a field without a type: 'b'"),
    "a field twice": (lambda: hr.App("a").stream("t", schema="a int, A int"), "field 'A' twice"),
    "a schema for text": (lambda: hr.App("a").stream("t", schema="a int", format="text"), "takes no schema"),
    "an unknown format": (lambda: hr.App("a").stream("t", schema="a int", format="xml"), "format is one of"),  # type: ignore[arg-type]
    "an unknown bad policy": (lambda: trades(bad="ignore"), "bad is one of: 'dead', 'skip', 'fail'"),
    "a time column that does not exist": (lambda: trades(time="when"), "no column 'when'"),
    "a time column that is text": (lambda: trades(time="symbol"), "not a timestamp"),
    "a wrong duration": (lambda: trades(lateness="10 parsecs"), "lateness='10 parsecs' is not a duration"),
    "a window of nothing": (lambda: hr.tumbling("0 seconds"), "must be greater than zero"),
    "a hop of nothing": (lambda: hr.hopping("1 minute", every="0 s"), "every='0 s' must be greater"),
    "a negative size": (lambda: hr.tumbling(timedelta(seconds=-1)), "must be greater than zero"),
    "a hop far too small": (lambda: hr.hopping("1 day", every="1 ms"), "would be in"),
    "a duration that is a number": (lambda: hr.tumbling(5), "is not a duration"),  # type: ignore[arg-type]
    "a window that is none": (lambda: trades().window("5 seconds"), "window() takes a window"),  # type: ignore[arg-type]
    "final windows without lateness": (
        lambda: hr.App("a").stream("t", schema="a int").window(hr.tumbling("1 s"), emit="final"),
        'add lateness="10 seconds"',
    ),
    "a session that is emitted early": (lambda: trades().window(hr.session(gap="1 s"), emit="updates"), "before it ends"),
    "a session without a key": (lambda: trades().window(hr.session(gap="1 s")), "a session window needs a key"),
    "a duration beyond all bounds": (lambda: hr.tumbling("9999999999 weeks"), "is too long"),
    "a topic that is read and written": (lambda: loop().queries(), "would be read and written for ever"),
    "an unknown emission": (lambda: trades().window(hr.tumbling("1 s"), emit="often"), "emit is one of"),  # type: ignore[arg-type]
    "agg of nothing": (lambda: trades().agg(), "agg() got no aggregates"),
    "an aggregate named like the key": (lambda: trades().key_by("symbol").agg(symbol="count(*)"), "is there already"),
    "dedupe of nothing": (lambda: trades().dedupe(), "dedupe() needs the columns"),
    "dedupe within, without lateness": (
        lambda: hr.App("a").stream("t", schema="a int").dedupe("a", within="1 hour"),
        "needs to know how late",
    ),
    "merging different columns": (lambda: (lambda s: s.merge(s.drop("qty")))(trades()), "not in both: qty"),
    "merging a table": (lambda: trades().merge(trades().count()), "streams of the same app"),  # type: ignore[arg-type]
    "merging a stream of another app": (lambda: trades().merge(trades()), "streams of the same app"),
    "changing a table's key": (lambda: trades().key_by("symbol").count().with_columns(symbol="'x'"), "key can't be changed"),
    "a join without a key": (lambda: joined(on=()), "needs the columns in which both sides are equal"),
    "a join on a column that one side lacks": (lambda: joined(on="symbol"), "no column 'symbol' in the stream 'orders'"),
    "a join of an unknown kind": (lambda: joined(how="outer"), "how is one of"),
    "a join of streams that share a column": (lambda: joined(other="k string, qty int"), "both sides have a column called qty"),
    "a join without lateness": (lambda: joined(lateness=None), "needs to know how late"),
    "a join within nothing": (lambda: joined(within="0 seconds"), "within='0 seconds' must be greater"),
    "a join with a table of another app": (
        lambda: trades().join(people(), on={"symbol": "id"}),
        "a stream or a table of the same",
    ),
    "a join of streams without a bound": (lambda: joined(within=None), "how far apart events may be"),
    "a join with a table within a time": (lambda: looked_up(within="1 s"), "within= is for a join of two streams"),
    "a join with a table on something else": (
        lambda: looked_up(on={"symbol": "name"}),
        "on the table's key, which is id, not name",
    ),
    "a full join with a table": (lambda: looked_up(how="full"), "how is one of: 'inner', 'left'"),
    "a join as of nothing": (lambda: looked_up(as_of="now"), "as_of is one of"),
    "a join as of event time without lateness": (lambda: looked_up(as_of="event_time"), "needs to know how late"),
    "a table joined with a stream": (lambda: people().join(trades(), on="id"), "joined with a table of the same app"),  # type: ignore[arg-type]
    "tables that share a column": (lambda: people_twice(), "both sides have a column called name"),
    "a table without a key": (lambda: hr.App("m").table("t", key=(), schema="id int"), "a table needs a key"),
    "a table with a key it lacks": (
        lambda: hr.App("m").table("t", key="it", schema="id int"),
        "no column 'it' in the table 't'",
    ),
    "a table with a version of text": (lambda: people(version="name"), "the version column 'name' is a string"),
    "a stream as a table without a key": (lambda: trades().as_table(), "a table needs a key"),
    "a group of a column that is not there": (
        lambda: people().key_by("city").count(),
        "no column 'city' in the table 'people'",
    ),
    "groups of nothing": (lambda: people().key_by(), "key_by() needs a column"),
    "a change of a key": (lambda: people().with_columns(id="id + 1"), "a table's key can't be changed: id"),
    "aggregates of nothing": (lambda: people().agg(), "agg() got no aggregates"),
    "splitting by nothing": (lambda: trades().split(), "split() needs a condition"),
    "key_by of nothing": (lambda: trades().key_by(), "key_by() needs a column"),
    "an app's bad name": (lambda: hr.App("my app!"), "can't be the name"),
    "a table without its key": (lambda: trades().key_by("symbol").count().select("count"), "a table keeps its key: symbol"),
    "a udf without a type": (lambda: hr.udf(len), "needs the type it returns"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_at_the_line_where_it_was_typed(mistake: str) -> None:
    make, words = MISTAKES[mistake]
    with pytest.raises(PlanError) as caught:
        make()
    assert words in str(caught.value)
    assert caught.value.where is not None
    assert caught.value.where.file.endswith("test_build.py")
    assert "\n" not in caught.value.message


def test_a_second_stream_of_the_same_topic_names_the_first() -> None:
    app = hr.App("market")
    trades(app)
    with pytest.raises(PlanError, match=r"'trades' is a stream of this app already, from .*test_build.py:\d+"):
        trades(app)


def test_a_topic_is_written_once() -> None:
    stream = trades()
    stream.to("out")
    with pytest.raises(PlanError, match="'out' is written already"):
        stream.where("qty > 1").to("out")


def test_an_app_that_writes_nothing_is_told_so() -> None:
    app = hr.App("market")
    trades(app)
    with pytest.raises(PlanError, match="writes nothing"):
        app.queries()


def test_in_a_chain_the_line_is_that_of_the_verb() -> None:
    with pytest.raises(PlanError) as caught:
        (
            trades()
            .where("qty > 1")
            .select(
                "symbol",
                "nothing",
            )
            .where("symbol = 'A'")
        )
    assert caught.value.where is not None
    assert caught.value.where.code == ".select("


def test_columns_key_and_kind_are_known_without_spark() -> None:
    stream = trades().where("price > 0 and `qty` > 1").with_columns(value="price * qty")
    assert stream.columns == ("symbol", "price", "qty", "tags", "at", "value")
    keyed = stream.select("symbol", "value as v", day="date(at)").key_by("symbol")
    assert (keyed.columns, keyed.key) == (("symbol", "v", "day"), ("symbol",))
    assert keyed.drop("symbol").key == ()
    table = keyed.window(hr.tumbling("1 minute")).agg(total="sum(v)")
    assert isinstance(table, hr.Table)
    assert table.columns == ("symbol", "window_start", "window_end", "total", "final")
    assert table.key == ("symbol", "window_start")
    assert isinstance(windowed(trades()), hr.KeyedStream)
    assert trades().explode("tags", name="tag").columns[-1] == "tag"


def test_hidden_columns_can_be_used_and_are_not_written() -> None:
    stream = trades().where("_offset > 10").with_columns(p="_partition", late="_timestamp - _time")
    assert stream.columns[-2:] == ("p", "late")
    assert "_time" not in stream.columns


def test_a_function_in_scope_is_found_by_its_name() -> None:
    @hr.udf("double")
    def fee(price: float) -> float:
        return price * 0.01

    node = trades().with_columns(fee="fee(price)")._node
    assert [udf.name for udf in node.udfs] == ["fee"]


def test_a_function_in_a_lambda_is_refused() -> None:
    @hr.udf("int")
    def fee(price: int) -> int:
        return price // 100

    with pytest.raises(PlanError, match=r"fee\(\) is a Python function") as refused:
        trades().select("transform(array(1, 2), x -> fee(x) + 1) as fees")
    assert "whole array" in str(refused.value)


def test_declaring_an_app_loads_no_spark() -> None:
    program = "import headrace, sys; headrace.App('a').stream('t', schema='a int').to('o'); sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
