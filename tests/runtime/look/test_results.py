"""hr.read: what `to` writes is what it reads, on a real broker."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import headrace as hr
from headrace.broker import send, topics
from headrace.broker.records import Record
from headrace.errors import BadRecord, PlanError, TopicError

EACH = """
id int, tiny tinyint, small smallint, long bigint, ratio float, measure double, ok boolean, name string, price decimal(20,4),
day date, at timestamp, local timestamp_ntz, raw binary, tags array<string>, counts map<string,bigint>,
place struct<x: double, y: struct<z: timestamp>>, clock time(6), wait interval day to second
"""
FULL: dict[str, Any] = {
    "id": 1,
    "tiny": -128,
    "small": 32767,
    "long": 9007199254740993,
    "ratio": 0.5,
    "measure": 0.1,
    "ok": True,
    "name": "ä\n",
    "price": Decimal("12345678901234.5678"),
    "day": date(2024, 2, 29),
    "at": datetime(2024, 1, 1, 10, 0, 0, 123456, UTC),
    "local": datetime(2024, 1, 1, 10, 0, 0, 5),
    "raw": b"\x00\xff",
    "tags": ["a", None],
    "counts": {"a": 2, "b": None},
    "place": {"x": 1.5, "y": {"z": datetime(1, 1, 1, tzinfo=UTC)}},
}


@pytest.fixture(autouse=True)
def project(spark: Any, broker: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_BROKER", broker.address)


def put(broker: Any, topic: str, *rows: Mapping[str, Any], key: str | None = None) -> None:
    send.send(broker.connection, topic, send.rows(rows, key=key) if key else send.rows(rows), create=True)


def raw(broker: Any, topic: str, *records: tuple[str | None, str | None]) -> None:
    made = (Record(None if value is None else value.encode(), None if key is None else key.encode()) for key, value in records)
    send.send(broker.connection, topic, made, create=True)


def test_what_is_written_is_read_back_with_every_type(broker: Any, topic: str) -> None:
    first = {**FULL, "price": "12345678901234.5678", "day": "2024-02-29", "at": "2024-01-01T10:00:00.123456Z"}
    first |= {"local": "2024-01-01T10:00:00.000005", "raw": "AP8=", "clock": "10:30:00.25", "wait": "1 02:00:00"}
    first |= {"place": {"x": 1.5, "y": {"z": "0001-01-01T00:00:00Z"}}}
    put(broker, topic, first, {"id": 2})
    app = hr.App(f"types-{topic}")
    app.stream(topic, schema=EACH).to(f"{topic}-out")
    app.run(until="now")

    sent, copied = hr.read(topic, schema=EACH, as_="arrow"), hr.read(f"{topic}-out", app=app, as_="arrow")
    sent, copied = sent.sort_by("id"), copied.sort_by("id")
    assert copied.schema == sent.schema
    assert copied.to_pylist() == sent.to_pylist()
    full, empty = copied.to_pylist()
    assert {name: dict(full[name]) if name == "counts" else full[name] for name in FULL} == FULL
    assert {name: value for name, value in empty.items() if value is not None} == {"id": 2}
    assert copied.schema.field("at").type == pa.timestamp("us", tz="UTC")
    assert copied.schema.field("local").type == pa.timestamp("us")
    assert copied.schema.field("price").type == pa.decimal128(20, 4)

    frame = hr.read(f"{topic}-out", app=app).sort_values("id", ignore_index=True)
    assert frame["long"].tolist() == [9007199254740993, pd.NA]
    assert str(frame["id"].dtype) == "int32"
    assert str(frame["at"].dtype) == "datetime64[us, UTC]"
    assert frame["price"][0] == Decimal("12345678901234.5678")
    assert frame["counts"][0] == {"a": 2, "b": None}


def test_a_table_is_the_newest_row_of_each_key_without_those_that_were_deleted(broker: Any, topic: str) -> None:
    put(broker, topic, *({"k": k, "v": v} for k, v in (("a", 1), ("b", 2), ("a", 3))), key="k")
    raw(broker, topic, ("b", None))
    schema = "k string, v int"
    assert hr.read(topic, schema=schema).to_dict("list") == {"k": ["a", "b", "a"], "v": [1, 2, 3]}
    assert hr.read(topic, schema=schema, as_table=True).to_dict("list") == {"k": ["a"], "v": [3]}
    assert hr.read(topic, schema=schema, key="k").to_dict("list") == {"k": ["a"], "v": [3]}


def test_a_table_that_an_application_writes_is_read_as_a_table(broker: Any, topic: str) -> None:
    put(broker, topic, *({"k": k, "v": v} for k, v in (("a", 1), (None, 2), ("a", 3))))
    app = hr.App(f"sums-{topic}")
    stream = app.stream(topic, schema="k string, v int")
    stream.key_by("k").agg(total="sum(v)").to(f"{topic}-sums")
    stream.count().to(f"{topic}-count")
    for _ in range(2):
        app.run(until="now")
        put(broker, topic, {"k": "a", "v": 4})
    rows = hr.read(f"{topic}-sums", app=app)
    assert dict(rows.itertuples(index=False)) == {"a": 8, None: 2}
    assert len(hr.read(f"{topic}-sums", app=app, as_table=False)) == 3
    assert hr.read(f"{topic}-count", app=app).to_dict("list") == {"count": [4]}
    assert len(hr.read(topic, app=app)) == 5


def test_versions_decide_which_row_is_newer_and_a_delete_ends_what_came_before(broker: Any, topic: str) -> None:
    rows = [
        {"k": k, "v": v, "n": n} for k, v, n in (("a", 2, 1), ("a", 1, 2), ("b", 5, 3), ("b", 4, 4), ("c", 1, 5), ("c", 1, 6))
    ]
    put(broker, topic, *rows, key="k")
    raw(broker, topic, ("b", None))
    found = hr.read(topic, schema="k string, v int, n int", key="k", version="v")
    assert found.sort_values("k").to_dict("list") == {"k": ["a", "c"], "v": [2, 1], "n": [1, 6]}


def test_the_newest_rows_and_those_between_two_places(broker: Any, topic: str) -> None:
    topics.create(broker.connection, topic, partitions=3)
    put(broker, topic, *({"v": v} for v in range(30)))
    newest = hr.read(topic, schema="v int", limit=7, columns=["v", "_partition", "_offset"])
    assert len(newest) == 7
    assert list(newest.columns) == ["v", "_partition", "_offset"]
    everything = hr.read(topic, schema="v int", columns=["v", "_partition", "_offset"])
    assert sorted(everything["v"]) == list(range(30))
    assert len(hr.read(topic, schema="v int", limit=100)) == 30
    middle = hr.read(topic, schema="v int", start={0: 2}, until={0: 4, 1: 0, 2: 0}, columns=["_offset"])
    assert middle["_offset"].tolist() in ([2, 3], [2], [])
    assert len(hr.read(topic, schema="v int", until="2020-01-01")) == 0
    assert len(hr.read(topic, schema="v int", start="2020-01-01")) == 30


def test_what_is_not_committed_is_not_there(broker: Any, topic: str) -> None:
    put(broker, topic, {"v": 1})
    producer = broker.connection.producer(transactional_id=topic)
    producer.init_transactions(30)
    for v, end in ((2, producer.abort_transaction), (3, producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(topic, f'{{"v": {v}}}'.encode())
        producer.flush(30)
        end(30)
    producer.begin_transaction()
    producer.produce(topic, b'{"v": 4}')
    producer.flush(30)
    try:
        assert hr.read(topic, schema="v int")["v"].tolist() == [1, 3]
        assert hr.read(topic, schema="v int", limit=1)["v"].tolist() == [3]
    finally:
        producer.abort_transaction(30)


def test_records_that_cannot_be_decoded_are_counted_and_named(broker: Any, topic: str) -> None:
    raw(broker, topic, (None, '{"v": 1}'), (None, '{"v": "x"}'))
    cause = rf'topic {topic}, partition \d, offset \d: field v: expected int, found string "x"'
    with pytest.warns(UserWarning, match=f"1 of 2 records of the topic '{topic}' can't be decoded .*{cause}"):
        assert hr.read(topic, schema="v int")["v"].tolist() == [1]
    with pytest.raises(BadRecord, match=cause):
        hr.read(topic, schema="v int", bad="fail")
    with pytest.raises(BadRecord, match=f"none of the 2 records of the topic '{topic}' can be decoded") as caught:
        hr.read(topic, schema="v boolean")
    assert "correct the schema" in (caught.value.fix or "")
    assert caught.value.where is not None
    assert caught.value.where.file == __file__


def test_a_bad_record_does_not_hide_the_row_before_it(broker: Any, topic: str) -> None:
    raw(broker, topic, ("a", '{"v": 1}'), ("a", '{"v": "x"}'))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert hr.read(topic, schema="v int", as_table=True)["v"].tolist() == [1]


def test_text_and_bytes_need_no_schema(broker: Any, topic: str) -> None:
    raw(broker, topic, ("k", "one"), (None, "two"))
    assert sorted(hr.read(topic, format="text")["value"]) == ["one", "two"]
    assert sorted(hr.read(topic, format="bytes", columns=["value"])["value"]) == [b"one", b"two"]
    assert set(hr.read(topic, format="text", columns=["_key"])["_key"]) == {"k", None}


def test_an_empty_topic_has_no_rows_and_still_its_columns(broker: Any, topic: str) -> None:
    topics.create(broker.connection, topic)
    assert list(hr.read(topic, schema="k string, v int").columns) == ["k", "v"]
    assert len(hr.read(topic, schema="k string, v int", as_table=True)) == 0
    assert len(hr.read(topic, schema="k string, v int", limit=5)) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "the columns of the topic 't' are unknown"),
        ({"schema": "v int", "limit": 0}, "limit=0 must be a whole number greater than zero"),
        ({"schema": "v int", "start": "latest"}, 'start="latest" leaves nothing to read'),
        ({"schema": "v int", "until": "earliest"}, 'until="earliest" leaves nothing to read'),
        ({"schema": "v int", "columns": ["w"]}, "no column 'w'"),
        ({"schema": "v int", "as_": "polars"}, "as_"),
        ({"schema": "v int", "limitt": 3}, "limitt"),
        ({"schema": "v int", "key": "v", "as_table": False}, "key= and as_table=False contradict each other"),
    ],
)
def test_a_mistake_is_an_error_at_the_line_of_the_call(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        hr.read("t", **arguments)
    assert caught.value.where is not None
    assert caught.value.where.file == __file__


def test_a_topic_that_is_not_there_is_named(topic: str) -> None:
    with pytest.raises(TopicError, match=f"there is no topic {topic}") as caught:
        hr.read(topic, schema="v int")
    assert caught.value.where is not None
    app = hr.App("other")
    app.stream("in", schema="v int").to("out")
    with pytest.raises(PlanError, match="'other' neither writes nor reads"):
        hr.read(topic, app=app)
