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
