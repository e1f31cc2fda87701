"""A failed query is started again, with back-off; what can't get better ends the run."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import headrace as hr
from headrace.errors import RunError, SetupError
from headrace.runtime import supervise
from headrace.runtime.display import Silent
from headrace.runtime.progress import Batch, Total
from headrace.runtime.supervise import Job, Supervisor
from headrace.spark import jvm
from headrace.spark.compile import compile
from headrace.spark.read import memory
from headrace.spark.session import check_kernel
from headrace.version import __version__


class Heard(Silent):
    """A display that remembers."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.batches: list[Batch] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def batch(self, batch: Batch, total: Total) -> None:
        self.batches.append(batch)


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path) -> Callable[[int], Job]:
    """A job that fails as often as it is told, because its log is not there, and then works."""
    app = hr.App("supervised")
    app.stream("in", schema="k string").key_by("k").count().to("out")
    (spec,) = app.queries()
    log = uuid.uuid4().hex

    def make(failures: int) -> Job:
        left = [failures]

        def start() -> StreamingQuery:
            jvm.memory_log_create(spark, log)
            jvm.memory_log_append(spark, log, "in", [(None, b'{"k": "a"}', 0, 0)])
            jvm.memory_log_cut(spark, log)
            records = compile(spec, lambda source: memory.read(spark, source, log)).records
            writer = records.writeStream.format(memory.FORMAT).options(log=log, topic="out").outputMode(spec.mode)
            writer = writer.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True)
            if left[0]:
                left[0] -= 1
                jvm.memory_log_drop(spark, log)
            return writer.start()

        return Job(spec, start)

    return make


def supervised(job: Job, **more: Any) -> tuple[Supervisor, Heard]:
    heard = Heard()
    return Supervisor([job], heard, threading.Event(), **more), heard


def test_a_failed_query_is_started_again_after_a_pause_and_says_why(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "_BACKOFF", (0.1, 0.2, 0.4))
    reached: list[bool] = []
    failing = job(2)
    supervisor, heard = supervised(failing, before_restart=lambda: reached.append(True))
    supervisor.run()
    assert failing.total.restarts == 2
    assert len(reached) == 2
    assert [batch.rows_out for batch in heard.batches] == [1]
    assert "restarting in 0.1 s (try 1 of 3)" in heard.said[0]
    assert "restarting in 0.2 s (try 2 of 3)" in heard.said[1]
    assert "query 'out' failed: " in heard.said[0]
    assert "test_supervise.py" in heard.said[0]
    assert "\tat " not in heard.said[0], "a Java trace"


def test_a_query_that_fails_every_time_ends_the_run_with_the_cause(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "_BACKOFF", (0.01, 0.01))
    supervisor, heard = supervised(job(99), debug=True)
    with pytest.raises(RunError, match="query 'out' failed"):
        supervisor.run()
    assert any("\tat " in text or "Exception" in text for text in heard.said), "--debug shows Java's words"


def test_a_kernel_of_another_version_is_refused() -> None:
    check_kernel(__version__)
    with pytest.raises(SetupError, match=r"the kernel is version 0\.0\.1, headrace is"):
        check_kernel("0.0.1")
