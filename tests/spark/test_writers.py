"""Calls of a user's own writer, without Spark: also what a Spark that died has left."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.sinks import Writer
from headrace.spark.writers import Calls


class Log(Writer):
    def __init__(self) -> None:
        self.calls: list[str] = []

    def begin(self) -> str | None:
        self.calls.append("begin")
        return None

    def write(self, batch: Any) -> None:
        self.calls.append(f"write {batch.num_rows}")

    def commit(self, mark: str) -> None:
        self.calls.append(f"commit {mark}")

    def abort(self) -> None:
        self.calls.append("abort")

    def close(self) -> None:
        self.calls.append("close")


@pytest.fixture
def rows(tmp_path: Path) -> str:
    table = pa.table({"n": [1, 2]})
    with pa.OSFile(str(tmp_path / "rows.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as out:
        out.write_table(table)
    return str(tmp_path / "rows.arrow")


def test_rows_of_a_spark_that_died_before_the_commit_are_dropped_before_the_next_begin(rows: str) -> None:
    log = Log()
    calls = Calls.of(log)
    assert calls.begin() == "mark"
    assert calls.write(rows) is None
    assert Calls.of(log).begin() == "mark"
    assert log.calls == ["begin", "write 2", "abort", "close", "begin"]


def test_after_a_commit_or_a_close_nothing_is_left_to_drop(rows: str) -> None:
    log = Log()
    calls = Calls.of(log)
    calls.begin()
    calls.write(rows)
    calls.commit("m")
    calls.close()
    calls.begin()
    assert log.calls == ["begin", "write 2", "commit m", "close", "begin"]


def test_a_commit_that_goes_on_when_spark_has_died_ends_before_the_next_begin() -> None:
    entered, go = threading.Event(), threading.Event()

    class Slow(Log):
        def commit(self, mark: str) -> None:
            entered.set()
            go.wait(10)
            super().commit(mark)

    log = Slow()
    Calls.of(log).begin()
    old = threading.Thread(target=Calls.of(log).commit, args=("m",))
    old.start()
    assert entered.wait(10)
    new = threading.Thread(target=Calls.of(log).begin)
    new.start()
    new.join(0.1)
    assert new.is_alive()
    go.set()
    for thread in (old, new):
        thread.join(10)
    assert log.calls == ["begin", "commit m", "close", "begin"]


def test_what_can_not_be_dropped_keeps_nobody_from_beginning(rows: str) -> None:
    class Gone(Log):
        def abort(self) -> None:
            raise OSError("the connection is gone")

    log = Gone()
    Calls.of(log).begin()
    Calls.of(log).write(rows)
    assert Calls.of(log).begin() == "mark"
