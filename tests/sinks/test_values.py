"""Sinks are values, checked at the user's line; no secret is in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import PlanError
from headrace.plan import realtime

URL = "postgresql://ada@db.example/market"
REDIS = "redis://localhost:6379/0"


def stream() -> hr.Stream:
    return hr.App("market").stream("trades", schema="symbol string, price double")


def table() -> hr.Table:
    return hr.App("market").table("prices", key="symbol", schema="symbol string, price double")


def test_a_url_is_taken_apart() -> None:
    sink = hr.sinks.postgres(
        "postgres://ada:${PGPASSWORD}@[::1]:6543/market?sslmode=require&connect_timeout=3", table="sales.trades"
    )
    assert (sink.host, sink.port, sink.database, sink.user, sink.table) == ("[::1]", 6543, "market", "ada", "sales.trades")
    assert dict(sink.options) == {"sslmode": "require", "connectTimeout": "3"}
    assert sink.password == hr.secret("PGPASSWORD")
    cache = hr.sinks.redis("rediss://bob@cache.example/3", prefix="prices", expire="1 hour", password=hr.secret("REDIS"))
    assert (cache.host, cache.port, cache.database, cache.tls, cache.user) == ("cache.example", 6379, 3, True, "bob")
    assert (cache.expire, cache.password) == (3600, hr.secret("REDIS"))


def test_neither_a_sink_nor_an_error_shows_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "open sesame")
    sink = hr.sinks.postgres("postgresql://ada:${PGPASSWORD}@db.example/market", table="trades")
    assert "sesame" not in repr(sink) + str(sink) + sink.label + repr(sink.written_by)
    for make in (
        lambda: hr.sinks.postgres("postgresql://ada:sesame@db.example/market", table="trades"),
        lambda: hr.sinks.postgres(URL, table="trades", password="sesame"),  # pyright: ignore
        lambda: hr.sinks.redis("redis://:sesame@localhost", prefix="p"),
        lambda: hr.sinks.redis("http://:sesame@localhost:x", prefix="p"),
    ):
        with pytest.raises(PlanError) as refused:
            make()
        assert "sesame" not in str(refused.value)
        assert refused.value.fix


@pytest.mark.parametrize(
    ("make", "message", "fix"),
    [
        (
            lambda: hr.sinks.postgres("mysql://ada@db/market", table="t"),
            "this is not a postgresql URL",
            'write "postgresql://user@host:5432/database"',
        ),
        (lambda: hr.sinks.files(5), "files() needs a folder, not 5", 'write files("data/trades")'),  # type: ignore[arg-type]
        (
            lambda: hr.sinks.postgres("postgresql://ada@db", table="t"),
            "the URL names no database",
            'write "postgresql://user@host:5432/database"',
        ),
        (
            lambda: hr.sinks.postgres("postgresql://db/market", table="t"),
            "the URL names no user",
            'write "postgresql://user@host:5432/database", or user=',
        ),
        (
            lambda: hr.sinks.postgres(URL + "?sslmodus=x", table="t"),
            "the URL has an unknown option: 'sslmodus'",
            "options are: sslmode, sslrootcert, sslcert, sslkey, connect_timeout, application_name",
        ),
        (
            lambda: hr.sinks.postgres(URL, table="drop table x"),
            "'drop table x' is not a valid table name",
            "use letters, digits and '_'; or \"schema.table\"",
        ),
        (
            lambda: hr.sinks.postgres(URL, table="t", mode="replace"),
            "mode='replace' is not known",
            "mode is one of: 'append', 'upsert'",
        ),
        (lambda: hr.sinks.sqlite("x.db", table="a.b"), "'a.b' is not a valid SQLite table name", "leave the schema out"),
        (lambda: hr.sinks.sqlite(7, table="t"), "7 is not a path", 'write sqlite("market.db", table=…)'),
        (
            lambda: hr.sinks.redis(REDIS, prefix="a b"),
            "'a b' is not a valid prefix",
            "use letters, digits, '.', ':', '_' and '-'",
        ),
        (
            lambda: hr.sinks.redis("redis://localhost/x", prefix="p"),
            "a Redis URL ends with the number of a database",
            'write "redis://host:6379/0"',
        ),
        (
            lambda: hr.sinks.redis(REDIS, prefix="p", expire="1 millisecond"),
            "expire='1 millisecond' is less than a second",
            'write expire="1 hour"',
        ),
        (
            lambda: table().to(hr.sinks.postgres(URL, table="t", mode="append")),
            'mode="append" is for streams, and postgres.t gets a table, whose rows change',
            "leave mode= out, or write the changes: table.changes().to(…)",
        ),
        (
            lambda: stream().to(hr.sinks.postgres(URL, table="t", mode="upsert")),
            "postgres.t keeps one row for each key, and this stream has none",
            "make a table of it: as_table(key=…)",
        ),
        (
            lambda: stream().key_by("symbol").to(hr.sinks.redis(REDIS, prefix="p")),
            "redis.p keeps the last row of each key, and a stream has no last row",
            "make a table of it: as_table(key=…)",
        ),
        (
            lambda: stream().count().to(hr.sinks.sqlite("x.db", table="t")),
            "sqlite.t keeps one row for each key, and this table has none: it is a single row",
            "group it: key_by(…) before agg(…)",
        ),
        (
            lambda: stream().to(hr.sinks.sqlite("x.db", table="t"), delivery="at_least_once"),
            "sqlite.t is written exactly once",
            "leave delivery= out: it is for topics",
        ),
    ],
)
def test_what_can_not_be_is_refused_at_the_line(make: object, message: str, fix: str) -> None:
    with pytest.raises(PlanError) as refused:
        make()  # pyright: ignore
    assert (refused.value.message, refused.value.fix) == (message, fix)
    assert refused.value.where is not None
    assert refused.value.where.file.endswith("test_values.py")


def test_a_query_is_named_after_its_table() -> None:
    app = hr.App("market")
    trades = app.stream("trades", schema="symbol string")
    trades.to(hr.sinks.postgres(URL, table="sales.trades"))
    trades.to("copy")
    (query,) = app.queries()
    assert (query.name, query.topics, query.writes) == ("postgres.sales.trades", ("copy",), ("postgres.sales.trades", "copy"))


def test_in_real_time_mode_only_topics_are_written() -> None:
    app = hr.App("market")
    app.stream("trades", schema="symbol string").to(hr.sinks.sqlite("x.db", table="t"))
    with pytest.raises(PlanError) as caught:
        realtime.queries(app.queries())
    assert "is not supported in real-time mode" in caught.value.message


@pytest.mark.parametrize(
    "sink",
    [
        hr.sinks.postgres("postgresql://ada@db/market", table="trades"),
        hr.sinks.sqlite("market.db", table="trades"),
        hr.sinks.redis("redis://localhost:6379/0", prefix="trades"),
    ],
    ids=lambda sink: sink.label,
)
def test_a_sink_names_a_class_of_the_kernel(sink: Any) -> None:
    kernel = Path(__file__).resolve().parents[2] / "kernel/src/headrace/kernel/sink"
    source = (kernel / f"{sink.written_by.java.replace('.', '/')}.java").read_text()
    name = sink.written_by.java.rpartition(".")[2]
    assert f"public {name}(Context context, Options options)" in source
    # Its constructor reads each option that is given, and no other.
    read = set(re.findall(r'options\.(?:text|texts|number|flag)\("(\w+)"\)', source))
    assert read == set(sink.written_by.options)
