"""The testing kit itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import headrace as hr


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
