"""Files, on a real broker and a real Spark."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.broker import send
from headrace.errors import PlanError
from headrace.runtime import dead
from headrace.runtime import run as runtime
from headrace.runtime.display import Silent
from tests.runtime.test_effects import cut


def test_files_have_each_row_once_also_after_a_crash(
    spark: Any, broker: Any, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = hr.App(f"files-{topic}")
    stream = app.stream(topic, schema="id int").with_columns(part="id % 3")
    stream.to(hr.sinks.files(tmp_path / "rows", partition_by="part"))
    stream.to(f"{topic}-out")
    for first in (0, 100):
        rows = send.rows([*({"id": id} for id in range(first, first + 100)), {"id": "none"}])
        send.send(broker.connection, topic, rows, create=True)
        runtime.run(app, until="now", flags={"broker": broker.address}, display=Silent())
        cut(tmp_path / ".headrace" / "state" / app.name / "files.rows")
    runtime.run(app, until="now", flags={"broker": broker.address}, display=Silent())
    assert Counter(row.id for row in spark.read.parquet(str(tmp_path / "rows")).collect()) == Counter(range(200))
    assert (tmp_path / "rows" / "part=1").is_dir()
    assert Counter(dead_letter.query for dead_letter in dead.read(broker.connection, app.name)) == {
        "files.rows": 2,
        f"{topic}-out": 2,
    }


def test_a_table_can_not_be_written_to_files() -> None:
    app = hr.App("files")
    with pytest.raises(PlanError) as caught:
        app.table("t", key="k", schema="k string").to(hr.sinks.files("rows"))
    assert caught.value.message == "the rows of a table change, and files can't be updated"
    assert caught.value.fix == 'write its changes: table.changes().to(…), or windows with emit="final"'
    assert caught.value.where is not None
    assert caught.value.where.file.endswith("test_files.py")
