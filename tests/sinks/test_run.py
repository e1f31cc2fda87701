"""A whole run: from a topic of a real broker to a topic and a table."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.broker import peek, send, topics
from headrace.broker.records import Record
from headrace.errors import StateError
from headrace.runtime import run as runtime
from headrace.runtime.checkpoints import repair
from headrace.runtime.display import Silent
from tests.sinks.servers import Postgres


def test_a_topic_and_a_table_each_get_a_batch_once(
    spark: Any, broker: Any, postgres: Postgres, topic: str, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    topics.create(broker.connection, topic, partitions=2)
    app = hr.App(f"both-{topic}")
    numbers = app.stream(topic, schema="n int")
    numbers.to(f"{topic}-out")
    numbers.to(hr.sinks.postgres(postgres.url, table=table))
    place = tmp_path / ".headrace" / "state" / app.name / f"{topic}-out"

    def run(*ns: int) -> None:
        send.send(broker.connection, topic, [Record(json.dumps({"n": n}).encode(), str(n).encode()) for n in ns])
        runtime.run(app, until="now", flags={"broker": broker.address}, display=Silent())

    def rows() -> Counter[int]:
        return Counter(row["n"] for row in postgres.rows(f"SELECT n FROM {table}"))

    run(1, 2, 3)
    (commit,) = (place / "commits").glob("[0-9]*")
    commit.unlink()
    run(4, 5)
    assert rows() == Counter([1, 2, 3, 4, 5])
    written = [json.loads(record.value or b"")["n"] for record in peek.read(broker.connection, f"{topic}-out")]
    assert Counter(written) == Counter([1, 2, 3, 4, 5])

    shutil.rmtree(place)
    with pytest.raises(StateError, match="of another checkpoint"):
        run(6)
    repair.repair(app, f"{topic}-out", flags={"broker": broker.address}, display=Silent())
    run()
    assert rows() == Counter([1, 2, 3, 4, 5] * 2 + [6])
