"""Sinks are values, checked at the user's line; no secret is in them."""

from __future__ import annotations

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
    assert "sesame" not in repr(sink) + str(sink) + sink.label
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
    ("make", "said"),
    [
        (lambda: hr.sinks.postgres("mysql://ada@db/market", table="t"), "not a URL of postgresql"),
        (lambda: hr.sinks.postgres("postgresql://ada@db", table="t"), "names no database"),
        (lambda: hr.sinks.postgres("postgresql://db/market", table="t"), "names no user"),
        (lambda: hr.sinks.postgres(URL + "?sslmodus=x", table="t"), "'sslmodus' is not known"),
        (lambda: hr.sinks.postgres(URL, table="drop table x"), "can't be the name of a table"),
        (lambda: hr.sinks.postgres(URL, table="t", mode="replace"), "mode='replace' is not known"),
        (lambda: hr.sinks.sqlite("x.db", table="a.b"), "can't be the name of a table of SQLite"),
        (lambda: hr.sinks.sqlite(7, table="t"), "7 is not a path"),
        (lambda: hr.sinks.redis(REDIS, prefix="a b"), "can't be a prefix"),
        (lambda: hr.sinks.redis("redis://localhost/x", prefix="p"), "the number of a database"),
        (lambda: hr.sinks.redis(REDIS, prefix="p", expire="1 millisecond"), "less than a second"),
        (lambda: table().to(hr.sinks.postgres(URL, table="t", mode="append")), "is for streams"),
        (lambda: stream().to(hr.sinks.postgres(URL, table="t", mode="upsert")), "this stream has none"),
        (lambda: stream().key_by("symbol").to(hr.sinks.redis(REDIS, prefix="p")), "of a stream none is the last"),
        (lambda: stream().count().to(hr.sinks.sqlite("x.db", table="t")), "it is a single row"),
        (lambda: stream().to(hr.sinks.sqlite("x.db", table="t"), delivery="at_least_once"), "written exactly once"),
    ],
)
def test_what_can_not_be_is_refused_at_the_line(make: object, said: str) -> None:
    with pytest.raises(PlanError, match=said) as refused:
        make()  # pyright: ignore
    assert refused.value.where is not None
    assert refused.value.where.file.endswith("test_values.py")
    assert refused.value.fix


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
    with pytest.raises(PlanError, match="can't be written in real-time mode"):
        realtime.queries(app.queries())
