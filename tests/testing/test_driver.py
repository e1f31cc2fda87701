"""The testing kit itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import headrace as hr
from headrace.errors import PlanError


def test_timestamps_are_datetimes_however_deep_they_are(drive: Any) -> None:
    app = hr.App("deep")
    schema = "k string, at timestamp, seen array<timestamp>, by map<string, struct<at: timestamp>>"
    app.table("things", schema=schema, key="k").changes().to("changes")
    t = drive(app)
    when, text = datetime(2024, 5, 1, 10, 0, 0, 123456, tzinfo=UTC), "2024-05-01T10:00:00.123456Z"
    t.feed("things", [{"k": "a", "at": text, "seen": [text, None], "by": {"x": {"at": text}, "y": None}}])
    t.feed("things", [{"k": "b", "at": None, "seen": None, "by": {}}]).run()
    found = {row["k"]: row["after"] for row in t.rows("changes")}
    assert found["a"] == {"k": "a", "at": when, "seen": [when, None], "by": {"x": {"at": when}, "y": None}}
    assert found["b"].get("at") is None
    assert found["b"].get("seen") is None


def test_topics_that_match_a_pattern_are_fed_by_their_names(drive: Any) -> None:
    app = hr.App("all")
    app.stream(hr.sources.kafka(pattern="clicks-.*"), schema="user string").select("user", "_topic as topic").to("out")
    run = drive(app).feed("clicks-de", [{"user": "ada"}]).feed("clicks-uk", [{"user": "bob"}]).run()
    assert sorted((row["user"], row["topic"]) for row in run.rows("out")) == [("ada", "clicks-de"), ("bob", "clicks-uk")]
    with pytest.raises(PlanError, match="fed for the first time after a run"):
        run.feed("clicks-fr", [{"user": "cy"}])
    with pytest.raises(PlanError, match="does not read the topic 'trades'"):
        run.feed("trades", [])


def test_several_topics_of_one_source_are_fed_apart_and_read_together(drive: Any) -> None:
    app = hr.App("both")
    app.stream(hr.sources.kafka(["a", "b"]), schema="v int").count().to("out")
    run = drive(app).feed("a", [{"v": 1}, {"v": 2}]).feed("b", [{"v": 3}]).run()
    assert run.rows("out") == [{"count": 3}]


@pytest.mark.parametrize("format", ["json", "csv", "parquet"])
def test_files_are_fed_by_their_path_whatever_their_format(drive: Any, format: Any) -> None:
    app = hr.App("files")
    source = hr.sources.files(f"data/*.{format}", format=format)
    app.stream(source, schema="id int, price double, at timestamp", time="at").select(
        "id", "10 / price as x", "_topic as file"
    ).to("out")
    run = drive(app).feed(f"data/*.{format}", [{"id": id, "price": id, "at": "10:00:00"} for id in range(3)])
    run.feed(f"data/*.{format}", [{"id": 4, "price": 1}, '{"id": '] if format != "json" else [{"id": 4, "price": 1}, "no"])
    run.run().crash().feed(f"data/*.{format}", "id | price | at\n5 | 5 | 10:01:00").run()
    assert sorted((row["id"], row["x"]) for row in run.rows("out")) == [(1, 10.0), (2, 5.0), (5, 2.0)]
    causes = [letter.cause for letter in run.dead()]
    assert len(causes) == 3
    assert "field at: missing or null, but required" in causes
    assert any("DIVIDE_BY_ZERO" in cause or "zero" in cause for cause in causes)


def test_windows_over_files_close_after_silence(drive: Any) -> None:
    app = hr.App("files")
    rows = app.stream(
        hr.sources.files("data"), schema="k string, at timestamp", time="at", lateness="0 seconds", close_after="1 minute"
    )
    rows.key_by("k").window(hr.tumbling("1 minute"), emit="final").agg(n="count(*)").to("out")
    run = drive(app).feed("data", [{"k": "a", "at": "10:00:00"}]).run()
    assert run.rows("out") == []
    assert [row["n"] for row in run.advance("2 minutes").rows("out")] == [1]


def test_each_of_two_folders_has_its_own_policy_for_bad_rows(drive: Any) -> None:
    app = hr.App("files")
    skipped = app.stream(hr.sources.files("old"), schema="v int", bad="skip")
    kept = app.stream(hr.sources.files("new"), schema="v int", bad="dead")
    skipped.merge(kept).select("10 / v as x").to("out")
    run = drive(app).feed("old", [{"v": 0}, {"v": 1}]).feed("new", [{"v": 0}, {"v": 2}, {"v": 0}]).run()
    assert sorted(row["x"] for row in run.rows("out")) == [5.0, 10.0]
    assert [letter.topic for letter in run.dead()] == ["new", "new"]
    assert run.total("out").bad == 3
