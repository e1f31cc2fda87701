"""From the program to what runs, without Spark: names, grouping, state."""

from __future__ import annotations

import json

import pytest

import headrace as hr
from headrace.errors import PlanError, Where
from headrace.plan import durations
from headrace.plan.order import waves
from headrace.plan.sql import expressions, schema

HERE = Where("app.py", 1)


def app() -> hr.App:
    made = hr.App("market")
    trades = made.stream("trades", schema="symbol string, price double, at timestamp", time="at", lateness="10 seconds")
    stats = trades.where("price > 0").key_by("symbol").window(hr.tumbling("5 seconds")).agg(low="min(price)")
    stats.to("stats")
    stats.to("stats-copy")
    trades.dedupe("symbol", within="1 hour").to("firsts", name="first-trades")
    return made


def test_several_topics_of_one_stream_share_a_query() -> None:
    stats, firsts = app().queries()
    assert (stats.name, stats.topics, stats.mode) == ("stats", ("stats", "stats-copy"), "update")
    assert (firsts.name, firsts.topics, firsts.mode) == ("first-trades", ("firsts",), "append")
    assert stats.state == ("aggregate low=min(price) by symbol over tumbling 5 seconds, updates of trades",)
    assert firsts.state == ("dedupe symbol within 1 hour of trades",)


def test_compiling_twice_gives_the_same() -> None:
    assert app().queries() == app().queries()
    assert app().describe("json").replace("\\", "") == app().describe("json").replace("\\", "")


def test_names_survive_edits_to_other_parts_of_the_program() -> None:
    edited = hr.App("market")
    other = edited.stream("orders", schema="id long")
    other.where("id > 3").to("big-orders")
    trades = edited.stream("trades", schema="symbol string, price double, at timestamp", time="at", lateness="10 seconds")
    trades.where("price > 0").key_by("symbol").window(hr.tumbling("5 seconds")).agg(low="min(price)").to("stats")
    before, after = app().queries()[0], edited.queries()[1]
    assert (before.name, before.state, before.node) == (after.name, after.state, after.node)


def test_two_queries_of_one_name_are_refused() -> None:
    made = app()
    made.stream("x", schema="a int").to("y", name="stats")
    with pytest.raises(PlanError) as caught:
        made.queries()
    assert caught.value.message.startswith("two queries are called 'stats'; the other is at ")
    assert caught.value.fix == "give one another name="


def test_a_topic_and_a_sink_with_the_name_of_its_label_are_two_things() -> None:
    app = hr.App("mirror")
    captured = app.stream("sqlite.trades", schema="id long, v int")
    captured.to(hr.sinks.sqlite("mirror.db", table="trades"))
    captured.where("v > 0").to("positive")
    assert [spec.all_topics for spec in app.queries()] == [(), ("positive",)]
    assert len(waves(app.queries())) == 1


def test_the_topology_is_drawn_as_text() -> None:
    lines = [
        line.split("   ")[0].rstrip() if "test_queries" in line else line for line in _drawn(app().describe()).splitlines()
    ]
    assert "\n".join(lines) == (
        "app market\n"
        "\n"
        "  query stats (update)\n"
        "    topic trades (json, time at, lateness 10 seconds)\n"
        "      └ where price > 0\n"
        "        └ key by symbol\n"
        "          └ window tumbling 5 seconds, emit updates: min(price) as low\n"
        "            └ to stats, stats-copy\n"
        "    keeps: aggregate low=min(price) by symbol over tumbling 5 seconds, updates of trades\n"
        "\n"
        "  query first-trades (append)\n"
        "    topic trades (json, time at, lateness 10 seconds)\n"
        "      └ dedupe symbol within 1 hour\n"
        "        └ to firsts\n"
        "    keeps: dedupe symbol within 1 hour of trades"
    )


def _drawn(text: str) -> str:
    """Without the places on the right, which differ by line number."""
    import re

    return re.sub(r" +\S*test_queries.py:\d+$", "", text, flags=re.MULTILINE)


def test_text_mermaid_json_and_html_draw_one_model() -> None:
    made = app()
    model = json.loads(made.describe("json"))
    mermaid, page = made.describe("mermaid"), made._repr_html_()
    assert [query["name"] for query in model["queries"]] == ["stats", "first-trades"]
    for box in model["boxes"]:
        assert box["id"] in mermaid
        assert box["where"] in made.describe()
    assert "price #gt; 0" in mermaid
    assert "price &gt; 0" in page


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("5 seconds", 5_000_000),
        ("1 hour 30 minutes", 5_400_000_000),
        ("250 ms", 250_000),
        ("1.5 s", 1_500_000),
        ("2 days", 172_800_000_000),
    ],
)
def test_durations_are_read_and_written_back(text: str, micros: int) -> None:
    assert durations.micros(text, what="size", where=HERE) == micros
    assert durations.micros(durations.text(micros), what="size", where=HERE) == micros


def test_schemas_are_split_at_the_right_commas() -> None:
    text = "a int, b struct<x: int, y: array<decimal(10,2)>> not null, `odd, name` string comment 'a, b', m map<string, int>"
    fields = schema.parse(text, HERE)
    assert fields == (
        ("a", "int"),
        ("b", "struct<x: int, y: array<decimal(10,2)>> NOT NULL"),
        ("odd, name", "string"),
        ("m", "map<string, int>"),
    )
    assert schema.parse(schema.ddl(fields), HERE) == fields


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("price * qty", ("price", "qty")),
        ("transform(xs, x -> x + y)", ("xs", "y")),
        ("timestampdiff(SECOND, a, b)", ("a", "b")),
        ("a.b.c > 1", ("a",)),
        ("m['k']", ("m",)),
        ("sum(x) filter (where y > 1)", ("x", "y")),
        ("case when a then 'b' end", ("a",)),
        ("at + interval 5 minutes", ("at",)),
        ("count(*)", ()),
    ],
)
def test_the_columns_of_an_expression_are_known(text: str, columns: tuple[str, ...]) -> None:
    assert sorted(expressions.facts(text).columns) == sorted(columns)


def test_a_text_that_only_spark_can_read_is_left_to_spark() -> None:
    assert not expressions.facts("price >").parsed


def test_describe_says_which_sink_needs_a_query_of_its_own_and_what_is_kept_again() -> None:
    app = hr.App("a")
    source = app.stream("t", schema="k string, v double, at timestamp", time="at", lateness="1 minute")
    hours = source.window(hr.tumbling("1 hour"), emit="final").agg(total="sum(v)")
    hours.to("hours")
    hours.to(hr.sinks.files("out"))
    hours.where("total > 10").to("high")
    one, files, high = app.describe().split("\n\n")[1:]
    assert "keeps again" not in one
    assert "a query of its own" not in one + high
    assert "a query of its own: files.out needs one" in files
    for again in (files, high):
        assert "keeps again: aggregate total=sum(v) over tumbling 1 hour, final of t, as query hours does" in again


def test_state_over_another_filter_is_not_kept_again() -> None:
    app = hr.App("a")
    source = app.stream("t", schema="k string, v double")
    source.key_by("k").agg(total="sum(v)").to("all")
    source.where("v > 1").key_by("k").agg(total="sum(v)").to("some")
    assert "keeps again" not in app.describe()
