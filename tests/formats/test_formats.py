"""Formats as values: what `to` writes is what `stream` reads, for values and keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headrace as hr
from headrace.errors import PlanError


def both(format: Any) -> hr.App:
    """One query writes what the next one reads, in the same format."""
    app = hr.App("round")
    app.stream("in", format=format).to("middle", format=format)
    app.stream("middle", format=format).to("out", format=format)
    return app


@pytest.mark.parametrize(
    ("format", "values"),
    [
        ("text", ["", "a", "{not json", "über\n🦊"]),
        (hr.formats.text(), ["a"]),
        ("bytes", [b"", b"\x00\xff\xfe", "über".encode()]),
        (hr.formats.bytes(), [b"\x80"]),
    ],
)
def test_what_is_written_in_a_format_is_read_in_it(drive: Any, format: Any, values: list[Any]) -> None:
    run = drive(both(format)).feed("in", values).run()
    assert [row["value"] for row in run.rows("middle")] == values
    assert [row["value"] for row in run.rows("out")] == values


def test_a_name_is_short_for_its_value() -> None:
    def app(format: Any) -> hr.App:
        made = hr.App("a")
        made.stream("t", format=format, schema="value string" if format in ("json", hr.formats.json()) else None).to(
            "out", format=format
        )
        return made

    for name, value in (("json", hr.formats.json()), ("text", hr.formats.text()), ("bytes", hr.formats.bytes())):
        assert app(name).queries() == app(value).queries()


def test_keys_have_a_format(drive: Any) -> None:
    app = hr.App("keys")
    counts = app.stream("in", schema="k string, v int").key_by("k").count()
    counts.to("as-text")
    counts.to("as-json", key_format="json")
    counts.to("as-bytes", key_format="bytes")
    run = drive(app).feed("in", [{"k": "ü", "v": 1}]).run()
    assert {topic: list(run.table(topic)) for topic in ("as-text", "as-json", "as-bytes")} == {
        "as-text": ["ü"],
        "as-json": ['{"k":"ü"}'],
        "as-bytes": ["ü"],
    }


@pytest.mark.parametrize(("key_format", "key"), [("text", "a"), ("json", '{"k":"a"}')])
def test_a_table_deletes_by_a_key_in_its_format(drive: Any, key_format: Any, key: str) -> None:
    app = hr.App("deletes")
    app.table("in", schema="k string, v int", key="k", key_format=key_format).to("out")
    run = drive(app).feed("in", [{"k": "a", "v": 1}, {"k": "b", "v": 2}]).run()
    run.delete("in", key).run()
    assert run.table("out") == {"b": {"k": "b", "v": 2}}


def test_topics_in_several_formats_have_a_query_each() -> None:
    app = hr.App("two")
    words = app.stream("in", format="text")
    words.to("as-text", format="text")
    words.to("as-json")
    words.to("as-json-too")
    assert [(query.writes, query.format.name) for query in app.queries()] == [
        (("as-text",), "text"),
        (("as-json", "as-json-too"), "json"),
    ]


def test_a_sink_shares_the_query_of_a_topic_in_any_format() -> None:
    app = hr.App("two")
    counts = app.stream("in", format="text").key_by("value").count()
    counts.to(hr.sinks.sqlite("counts.db", table="counts"))
    counts.to("counts", key_format="json", headers={"word": "value"})
    (query,) = app.queries()
    assert (query.key_format.name, query.headers) == ("json", (("word", "value"),))


def test_events_that_are_late_for_a_query_in_bytes_are_written_as_they_always_are(drive: Any) -> None:
    app = hr.App("late")
    events = app.stream("in", schema="k string, at timestamp", time="at", lateness="0 seconds")
    windows = events.key_by("k").window(hr.tumbling("1 minute"), emit="final", late="divert")
    windows.count().select("encode(k, 'UTF-8') as value").to("out", format="bytes", key_format="bytes")
    windows.late.to("late")
    run = drive(app).feed("in", "k | at\na | 00:00:10\n---\na | 00:05:00\n---\na | 00:05:01\n---\nb | 00:00:20").run()
    assert [row["value"] for row in run.rows("out")] == [b"a"]
    assert [row["k"] for row in run.rows("late")] == ["b"]


def numbers() -> Any:
    return hr.App("a").stream("t", schema="k string, v int")


REFUSED: dict[str, tuple[Callable[[], object], str, str]] = {
    "two columns": (
        lambda: numbers().to("out", format="text"),
        "writes one column, `value`, and this has k, v",
        "select(value=",
    ),
    "an unknown name": (lambda: numbers().to("out", format="xml"), "format='xml' is not known", "'json', 'text', 'bytes'"),
    "no format": (lambda: numbers().to("out", format=7), "format=7 is not a format", 'format="json"'),
    "a sink's": (
        lambda: numbers().to(hr.sinks.sqlite("x.db", table="t"), format="json"),
        "has columns, not records",
        "leave format= out",
    ),
    "headers of a sink": (
        lambda: numbers().to(hr.sinks.sqlite("x.db", table="t"), headers={"k": "k"}),
        "has columns, not records",
        "leave headers= out",
    ),
    "headers without names": (
        lambda: numbers().to("out", headers=["k"]),  # pyright: ignore
        "does not name headers",
        'headers={"trace"',
    ),
    "a header of an unknown column": (
        lambda: numbers().to("out", headers={"k": "kk"}),
        "no column 'kk'",
        "its columns are: k, v",
    ),
    "bytes of two": (
        lambda: numbers().key_by("k", "v").count().to("out", key_format="bytes"),
        "the key has k, v",
        'key_format="json"',
    ),
    "a table by bytes": (
        lambda: hr.App("a").table("t", schema="k string", key="k", key_format="bytes"),
        "a table's key is text or JSON",
        'key_format="text"',
    ),
    "a schema": (lambda: hr.App("a").stream("t", format="text", schema="k string"), "takes no schema", "leave the schema out"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_format_can_not_do_is_refused_at_the_users_line(case: str) -> None:
    make, message, fix = REFUSED[case]
    with pytest.raises(PlanError) as refused:
        make()
    assert message in refused.value.message
    assert fix in (refused.value.fix or "")
    assert refused.value.where is not None
    assert refused.value.where.file.endswith("test_formats.py")


def test_bytes_of_a_number_are_refused_where_it_is_selected(drive: Any) -> None:
    app = hr.App("number")
    app.stream("in", schema="v int").select("v as value").to("out", format="bytes")
    with pytest.raises(PlanError, match="value is a int") as refused:
        drive(app)
    assert refused.value.where is not None
