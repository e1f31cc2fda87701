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


MISTAKES: dict[str, tuple[Callable[[], object], str, str | None]] = {
    "an unknown column in where": (
        lambda: trades().where("pric > 3"),
        "no column 'pric' in the stream 'trades'",
        "did you mean 'price'? its columns are: symbol, price, qty, tags, at",
    ),
    "an unknown column in select": (
        lambda: trades().select("symbol", "volume"),
        "no column 'volume' in the stream 'trades'",
        "its columns are: symbol, price, qty, tags, at",
    ),
    "an unknown column in with_columns": (
        lambda: trades().with_columns(x="prise * 2"),
        "no column 'prise' in the stream 'trades'",
        "did you mean 'price'? its columns are: symbol, price, qty, tags, at",
    ),
    "an unknown column in drop": (
        lambda: trades().drop("x"),
        "no column 'x' in the stream 'trades'",
        "its columns are: symbol, price, qty, tags, at",
    ),
    "an unknown column in key_by": (
        lambda: trades().key_by("sym"),
        "no column 'sym' in the stream 'trades'",
        "did you mean 'symbol'? its columns are: symbol, price, qty, tags, at",
    ),
    "an unknown column in agg": (
        lambda: trades().key_by("symbol").agg(x="sum(amount)"),
        "no column 'amount' in the stream derived from 'trades'",
        "its columns are: symbol, price, qty, tags, at",
    ),
    "an unknown column in explode": (
        lambda: trades().explode("tag", name="t"),
        "no column 'tag' in the stream 'trades'",
        "did you mean 'tags'? its columns are: symbol, price, qty, tags, at",
    ),
    "a column that an earlier select left out": (
        lambda: trades().select("symbol").where("price > 1"),
        "no column 'price' in the stream derived from 'trades'",
        "its columns are: symbol",
    ),
    "an expression without a name": (
        lambda: trades().select("price * qty"),
        "the expression 'price * qty' needs a name",
        'write "price * qty as name" or name="price * qty"',
    ),
    "an expression that is no text": (
        lambda: trades().where(3),  # type: ignore[arg-type]
        "3 is not an expression",
        'expressions are SQL text: "price > 10"',
    ),
    "two columns of one name": (
        lambda: trades().select("symbol", symbol="'x'"),
        "two columns would be called 'symbol'",
        "rename one of them",
    ),
    "a column of our own": (
        lambda: trades().with_columns(_x="1"),
        "a column can't be called '_x': names that begin with an underscore are Headrace's own",
        "choose another name",
    ),
    "a missing schema": (
        lambda: hr.App("a").stream("t"),
        "the stream 't' has no schema",
        'add schema="symbol string, price double, at timestamp"',
    ),
    "an empty schema": (
        lambda: hr.App("a").stream("t", schema=" "),
        "the schema is empty",
        'write it like schema="symbol string, price double, at timestamp"',
    ),
    "a field without a type": (
        lambda: hr.App("a").stream("t", schema="a int, b"),
        "the schema has a field without a type: 'b'",
        'write it like schema="symbol string, price double, at timestamp"',
    ),
    "a field twice": (
        lambda: hr.App("a").stream("t", schema="a int, A int"),
        "the schema has the field 'A' twice",
        "leave one of them out",
    ),
    "a schema for text": (
        lambda: hr.App("a").stream("t", schema="a int", format="text"),
        "format='text' has one column, `value`, and takes no schema",
        "leave the schema out",
    ),
    "an unknown format": (
        lambda: hr.App("a").stream("t", schema="a int", format="xml"),  # type: ignore[arg-type]
        "format='xml' is not known",
        "format is one of: 'json', 'text', 'bytes'",
    ),
    "an unknown bad policy": (
        lambda: trades(bad="ignore"),
        "bad='ignore' is not known",
        "bad is one of: 'dead', 'skip', 'fail'",
    ),
    "a time column that does not exist": (
        lambda: trades(time="when"),
        "no column 'when' in the stream 'trades' (time='when')",
        "its columns are: symbol, price, qty, tags, at",
    ),
    "a time column that is text": (
        lambda: trades(time="symbol"),
        "the time column 'symbol' is a string, not a timestamp",
        'declare it as "symbol timestamp", or say in which zone it is: time=hr.event_time("symbol", zone="Europe/Berlin")',
    ),
    "a wrong duration": (
        lambda: trades(lateness="10 parsecs"),
        "lateness='10 parsecs' is not a duration",
        'write "5 minutes", "1 hour 30 minutes", "250 ms" or a timedelta',
    ),
    "a window of nothing": (
        lambda: hr.tumbling("0 seconds"),
        "size='0 seconds' must be greater than zero",
        'write for example "5 minutes"',
    ),
    "a hop of nothing": (
        lambda: hr.hopping("1 minute", every="0 s"),
        "every='0 s' must be greater than zero",
        'write for example "5 minutes"',
    ),
    "a negative size": (
        lambda: hr.tumbling(timedelta(seconds=-1)),
        "size=datetime.timedelta(days=-1, seconds=86399) must be greater than zero",
        'write for example "5 minutes"',
    ),
    "a hop far too small": (
        lambda: hr.hopping("1 day", every="1 ms"),
        "each event would be in 86,400,000 windows",
        "make `every` longer or `size` shorter",
    ),
    "a duration that is a number": (
        lambda: hr.tumbling(5),  # type: ignore[arg-type]
        "size=5 is not a duration",
        'write "5 minutes", "1 hour 30 minutes", "250 ms" or a timedelta',
    ),
    "a window that is none": (
        lambda: trades().window("5 seconds"),  # type: ignore[arg-type]
        "window() takes a window, not '5 seconds'",
        'write window(hr.tumbling("5 minutes"))',
    ),
    "final windows without lateness": (
        lambda: hr.App("a").stream("t", schema="a int").window(hr.tumbling("1 s"), emit="final"),
        "a final window needs to know how late events can be",
        'add lateness="10 seconds" to the stream',
    ),
    "a session without a key": (
        lambda: trades().window(hr.session(gap="1 s")),
        "a session window needs a key",
        'write key_by("user") before it',
    ),
    "a duration beyond all bounds": (
        lambda: hr.tumbling("9999999999 weeks"),
        "size='9999999999 weeks' is too long",
        "at most 100,000 days",
    ),
    "a topic that is read and written": (
        lambda: loop().queries(),
        "the topic 'trades' would be read and written in an endless loop",
        "write another topic",
    ),
    "an unknown emission": (
        lambda: trades().window(hr.tumbling("1 s"), emit="often"),  # type: ignore[arg-type]
        "emit='often' is not known",
        "emit is one of: 'updates', 'final', 'all'",
    ),
    "agg of nothing": (
        lambda: trades().agg(),
        "agg() got no aggregates",
        'write agg(total="sum(price)", n="count(*)")',
    ),
    "an aggregate named like the key": (
        lambda: trades().key_by("symbol").agg(symbol="count(*)"),
        "the aggregate 'symbol' has the name of an existing column",
        "choose another name",
    ),
    "dedupe of nothing": (
        lambda: trades().dedupe(),
        "dedupe() needs the columns that identify a duplicate",
        'write dedupe("id")',
    ),
    "dedupe within, without lateness": (
        lambda: hr.App("a").stream("t", schema="a int").dedupe("a", within="1 hour"),
        "dedupe(within=...) needs to know how late events can be",
        'add lateness="10 seconds" to the stream',
    ),
    "merging different columns": (
        lambda: (lambda s: s.merge(s.drop("qty")))(trades()),
        "merge() needs streams with the same columns; only one side has: qty",
        "select() the same columns on both sides first",
    ),
    "merging a table": (
        lambda: trades().merge(trades().count()),  # type: ignore[arg-type]
        "merge() takes streams of the same app",
        "read all of them from one app; a table is a stream after changes()",
    ),
    "merging a stream of another app": (
        lambda: trades().merge(trades()),
        "merge() takes streams of the same app",
        "read all of them from one app; a table is a stream after changes()",
    ),
    "changing a table's key": (
        lambda: trades().key_by("symbol").count().with_columns(symbol="'x'"),
        "a table's key can't be changed: symbol",
        "give the column another name",
    ),
    "a join without a key": (
        lambda: joined(on=()),
        "join() needs the columns to join on",
        'write join(other, on="id", …)',
    ),
    "a join on a column that one side lacks": (
        lambda: joined(on="symbol"),
        "no column 'symbol' in the stream 'orders'",
        "its columns are: k, amount",
    ),
    "a join of an unknown kind": (
        lambda: joined(how="outer"),
        "how='outer' is not known",
        "how is one of: 'inner', 'left', 'right', 'full'",
    ),
    "a join of streams that share a column": (
        lambda: joined(other="k string, qty int"),
        "both sides have a column called qty",
        "rename or drop it on one side first, with select() or drop()",
    ),
    "a join without lateness": (
        lambda: joined(lateness=None),
        "this join needs to know how late events can be, and the stream 'orders' does not say",
        'add lateness="10 seconds" to the stream',
    ),
    "a join within nothing": (
        lambda: joined(within="0 seconds"),
        "within='0 seconds' must be greater than zero",
        'write for example "5 minutes"',
    ),
    "a join with a table of another app": (
        lambda: trades().join(people(), on={"symbol": "id"}),
        "join() takes a stream or a table of the same app",
        "read both from one app",
    ),
    "a join of streams without a bound": (
        lambda: joined(within=None),
        "a join of two streams needs to know how far apart events may be",
        'add within="10 minutes"',
    ),
    "a join with a table within a time": (
        lambda: looked_up(within="1 s"),
        "within= is for a join of two streams",
        "leave it out",
    ),
    "a join with a table on something else": (
        lambda: looked_up(on={"symbol": "name"}),
        "a stream is joined with a table on the table's key, which is id, not name",
        'write on="id", or make a table with that key',
    ),
    "a full join with a table": (
        lambda: looked_up(how="full"),
        "how='full' is not known",
        "how is one of: 'inner', 'left'",
    ),
    "a join as of nothing": (
        lambda: looked_up(as_of="now"),
        "as_of='now' is not known",
        "as_of is one of: 'arrival', 'event_time'",
    ),
    "a join as of event time without lateness": (
        lambda: looked_up(as_of="event_time"),
        "this join needs to know how late events can be, and the table 'people' does not say",
        'add lateness="10 seconds" to the table',
    ),
    "a table joined with a stream": (
        lambda: people().join(trades(), on="id"),  # type: ignore[arg-type]
        "a table is joined with a table of the same app",
        "write stream.join(table, …), or make the stream a table with as_table()",
    ),
    "tables that share a column": (
        lambda: people_twice(),
        "both sides have a column called name",
        "rename or drop it on one side first, with select() or drop()",
    ),
    "a table without a key": (
        lambda: hr.App("m").table("t", key=(), schema="id int"),
        "a table needs a key",
        'write key="id"',
    ),
    "a table with a key it lacks": (
        lambda: hr.App("m").table("t", key="it", schema="id int"),
        "no column 'it' in the table 't' (key='it')",
        "its columns are: id",
    ),
    "a table with a version of text": (
        lambda: people(version="name"),
        "the version column 'name' is a string",
        "a version is a whole number, a timestamp or a date",
    ),
    "a stream as a table without a key": (
        lambda: trades().as_table(),
        "a table needs a key",
        'write as_table(key="id")',
    ),
    "a group of a column that is not there": (
        lambda: people().key_by("city").count(),
        "no column 'city' in the table 'people'",
        "its columns are: id, name",
    ),
    "groups of nothing": (
        lambda: people().key_by(),
        "key_by() needs a column",
        'write key_by("symbol")',
    ),
    "a change of a key": (
        lambda: people().with_columns(id="id + 1"),
        "a table's key can't be changed: id",
        "give the column another name",
    ),
    "aggregates of nothing": (
        lambda: people().agg(),
        "agg() got no aggregates",
        'write agg(total="sum(price)", n="count(*)")',
    ),
    "splitting by nothing": (
        lambda: trades().split(),
        "split() needs a condition",
        'write big, rest = stream.split("qty > 100")',
    ),
    "key_by of nothing": (
        lambda: trades().key_by(),
        "key_by() needs a column",
        'write key_by("symbol")',
    ),
    "an app's bad name": (
        lambda: hr.App("my app!"),
        "'my app!' can't be the name of the application",
        "use letters, digits, '.', '_' and '-'",
    ),
    "a table without its key": (
        lambda: trades().key_by("symbol").count().select("count"),
        "a table must keep its key: symbol",
        "select the key's columns too",
    ),
    "a udf without a type": (
        lambda: hr.udf(len),  # type: ignore[arg-type]
        "@hr.udf needs the type it returns",
        'write @hr.udf("double")',
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported_at_the_line_where_it_was_typed(mistake: str) -> None:
    make, message, fix = MISTAKES[mistake]
    with pytest.raises(PlanError) as caught:
        make()
    assert caught.value.message == message
    assert caught.value.fix == fix
    assert caught.value.where is not None
    assert caught.value.where.file.endswith("test_build.py")


def test_a_topic_can_be_declared_again_with_other_options_and_declared_again_as_it_was_it_is_read_once() -> None:
    app = hr.App("market")
    source: dict[str, Any] = {"schema": "symbol string, at timestamp", "time": "at", "lateness": "1 second"}
    first, again = app.stream("trades", **source), app.stream("trades", **source)
    other = app.stream("trades", **{**source, "lateness": "1 minute"})
    first.merge(again, other, app.stream("orders", **source)).to("all")
    (query,) = app.queries()
    assert [query.label(source) for source in query.sources] == ["trades (1)", "trades (2)", "orders"]
    assert len({query.pulse(source) for source in query.sources}) == 3


def test_a_topic_is_written_once() -> None:
    stream = trades()
    stream.to("out")
    with pytest.raises(PlanError) as caught:
        stream.where("qty > 1").to("out")
    assert caught.value.message.startswith("the topic 'out' is already written at ")
    assert caught.value.fix == "merge() the two streams, or write somewhere else"


def test_an_app_that_writes_nothing_is_reported() -> None:
    app = hr.App("market")
    trades(app)
    with pytest.raises(PlanError) as caught:
        app.queries()
    assert caught.value.message == "the application 'market' writes nothing"
    assert caught.value.fix == 'end a stream or a table with .to("topic")'


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
    final = windowed(trades())
    assert isinstance(final, hr.Stream)
    assert final.key == ("symbol", "window_start")
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

    with pytest.raises(PlanError) as refused:
        trades().select("transform(array(1, 2), x -> fee(x) + 1) as fees")
    assert refused.value.message == "fee() is a Python function, and Spark can't call one for each element of an array"
    assert refused.value.fix == "let fee() take the whole array, or explode it first"


def test_declaring_an_app_loads_no_spark() -> None:
    program = "import headrace, sys; headrace.App('a').stream('t', schema='a int').to('o'); sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
