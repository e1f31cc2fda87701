"""Rows for effects: each is in the outbox once, however often its batch is written."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import RunError
from headrace.plan.queries import QuerySpec
from headrace.spark import jvm
from tests.sinks.conftest import read_sqlite
from tests.sinks.pipes import Pipe

Pipes = Callable[..., Pipe]


@pytest.fixture
def outbox(tmp_path: Path) -> Path:
    file = tmp_path / "effects.db"
    connection = sqlite3.connect(file)
    connection.executescript(
        """CREATE TABLE outbox(id TEXT PRIMARY KEY, effect TEXT NOT NULL, row TEXT NOT NULL, created INTEGER NOT NULL,
        state TEXT NOT NULL DEFAULT 'PENDING');
        CREATE TABLE marks(query TEXT PRIMARY KEY, checkpoint TEXT, batch INTEGER, hash TEXT, rows INTEGER);"""
    )
    connection.close()
    return file


def ends(spark: SparkSession, file: Path, *, keyed: bool) -> Callable[[QuerySpec], list[Any]]:
    def make(spec: QuerySpec) -> list[Any]:
        context = jvm.Context(spec.id, 0, "alerts/mail", "", ())
        options = {"file": str(file), "effect": "mail", "keyed": keyed}
        return [jvm.destination(spark, "sqlite.OutboxDestination", context, options)]

    return make


def test_a_row_without_an_id_gets_one_of_its_batch_and_itself(spark: SparkSession, outbox: Path, pipe: Pipes) -> None:
    app = hr.App("alerts")
    app.stream("alerts", schema="who string, what string").to("out")
    running = pipe(app, ends=ends(spark, outbox, keyed=False))
    batches = [["a", "a", "b"], ["a", "c"], ["c", "c", "c"]]
    for batch in batches:
        running.feed("alerts", [(str(at), {"who": who, "what": 'x"y'}) for at, who in enumerate(batch)]).run().crash()
    running.run()
    expected: dict[str, str] = {}
    for number, batch in enumerate(batches):
        for who, times in Counter(batch).items():
            value = json.dumps({"who": who, "what": 'x"y'}, separators=(",", ":"))
            for occurrence in range(times):
                id = hashlib.sha256(f"alerts/mail\0{number}\0{occurrence}\0{value}".encode()).hexdigest()[:32]
                expected[id] = value
    rows = read_sqlite(outbox, "SELECT * FROM outbox")
    assert {row["id"]: row["row"] for row in rows} == expected
    assert {(row["effect"], row["state"]) for row in rows} == {("mail", "PENDING")}
    assert all(row["created"] > 1_700_000_000_000_000 for row in rows)
    (mark,) = read_sqlite(outbox, "SELECT query, batch, rows FROM marks")
    assert mark == {"query": "alerts/mail", "batch": 2, "rows": 3}


def test_a_row_with_an_id_is_there_once_ever(spark: SparkSession, outbox: Path, pipe: Pipes) -> None:
    app = hr.App("alerts")
    app.table("alerts", key="who", schema="who string, what string").to("out")
    running = pipe(app, ends=ends(spark, outbox, keyed=True))
    running.feed("alerts", [("a", {"who": "a", "what": "1"}), ("b", {"who": "b", "what": "1"})]).run()
    running.feed("alerts", [("a", {"who": "a", "what": "2"}), ("b", None)]).run().crash().run()
    rows = read_sqlite(outbox, "SELECT id, row FROM outbox ORDER BY id")
    assert [(row["id"], json.loads(row["row"])["what"]) for row in rows] == [("a", "1"), ("b", "1")]


def test_without_an_outbox_nothing_is_written(spark: SparkSession, tmp_path: Path, pipe: Pipes) -> None:
    app = hr.App("alerts")
    app.stream("alerts", schema="who string").to("out")
    running = pipe(app, ends=ends(spark, tmp_path / "other.db", keyed=False))
    with pytest.raises(RunError, match=r"the outbox in .*no such table: outbox"):
        running.feed("alerts", [("a", {"who": "a"})]).run()
