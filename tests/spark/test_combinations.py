"""Verbs after each other that the plan allows, each by itself in use: Spark must not refuse one when the query runs."""

from __future__ import annotations

from typing import Any

import headrace as hr
from headrace.testing import Driver, at

SCHEMA = "k string, x bigint, at timestamp"
TIMED: dict[str, Any] = {"time": "at", "lateness": "1 second"}


def test_a_record_counts_once_even_where_two_sources_read_its_topic() -> None:
    app = hr.App("twice")
    stream = app.stream("s", schema=SCHEMA, bad="skip", **TIMED)
    table = app.table("s", key="k", schema="k string, x bigint, at timestamp", bad="skip", **TIMED).select("k", newest="x")
    stream.join(table, on="k", how="left").to("newest")
    windowed = stream.key_by("k").window(hr.tumbling("5 seconds")).agg(n="sum(x)")
    assert isinstance(windowed, hr.Table)
    windowed.drop("window_end", "final").join(windowed.key_by("k").agg(total="sum(n)"), on="k").to("shares")
    with Driver(app) as driver:
        driver.feed("s", [{"k": "A", "x": 1, "at": "10:00:00"}, {"k": "A", "x": 2, "at": "10:00:07"}, b"?"]).run()
        assert {(row["x"], row["newest"]) for row in driver.rows("newest")} == {(1, 1), (2, 2)}
        # As a stream and as a table.
        assert driver.total("newest").bad == 1
        shares = driver.table("shares").values()
        assert {(row["window_start"], row["n"], row["total"]) for row in shares} == {
            (at("10:00:00"), 1, 3),
            (at("10:00:05"), 2, 3),
        }


def test_what_has_the_time_in_another_column_too_can_be_joined_windowed_and_deduplicated() -> None:
    app = hr.App("times")
    stream = app.stream("s", schema=SCHEMA, **TIMED).select("k", "x")
    other = app.stream("o", schema=SCHEMA, **TIMED).select("x", y="k")
    final = stream.key_by("k").window(hr.tumbling("5 seconds"), emit="final").agg(x="sum(x)").drop("final")
    assert isinstance(final, hr.Stream)
    final.join(other, on="x", within="1 minute").to("final")
    session = stream.key_by("k").window(hr.session(gap="2 seconds")).agg(x="sum(x)").drop("final")
    assert isinstance(session, hr.Stream)
    session.dedupe("k", "x", within="1 minute").join(other, on="x", within="1 minute").to("session")
    copied = stream.with_columns(t="_time")
    copied.dedupe("k", "x", "t", within="1 minute").join(other, on="x", within="1 minute").to("copied")
    copied.key_by("k", "t").window(hr.tumbling("5 seconds"), emit="final").agg(n="count(*)").to("windowed")
    applied = stream.apply(lambda frame: frame.withColumn("t", frame["_time"]), columns=["k", "x", "t"])
    applied.join(other, on="x", within="1 minute").to("applied")
    with Driver(app) as driver:
        driver.feed("s", [{"k": "A", "x": 3, "at": "10:00:01"}, {"k": "A", "x": 4, "at": "10:00:02"}])
        driver.feed("o", [{"k": "seven", "x": 7, "at": "10:00:03"}, {"k": "three", "x": 3, "at": "10:00:04"}])
        driver.advance("1 hour")
        for topic in ("final", "session"):
            assert [(row["k"], row["x"], row["y"]) for row in driver.rows(topic)] == [("A", 7, "seven")], topic
        for topic in ("copied", "applied"):
            assert driver.rows(topic) == [{"x": 3, "k": "A", "t": at("10:00:01"), "y": "three"}], topic
        assert sorted((row["t"], row["n"]) for row in driver.rows("windowed")) == [(at("10:00:01"), 1), (at("10:00:02"), 1)]
