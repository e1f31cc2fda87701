"""Streams by the log's clock, on topics whose timestamps are set by their producers, or by the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import cli
from headrace.broker import peek, send, topics
from headrace.errors import TopicError
from headrace.runtime import run as runtime
from headrace.runtime.display import Silent
from headrace.runtime.run import Summary

LONG_AGO = 1_000_000_000_000


@pytest.fixture
def project(spark: Any, broker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    return broker


def put_with_the_producer_s_time(broker: Any, topic: str, row: dict[str, Any]) -> None:
    broker.connection.sender.produce(topic, json.dumps(row).encode(), timestamp=LONG_AGO)
    assert broker.connection.sender.flush(30) == 0


def run(broker: Any, topic: str, **clocks: Any) -> Summary:
    """An application for each clock, with one query."""
    app = hr.App(f"app-{topic}-{'-'.join(clocks)}")
    for name, clock in clocks.items():
        events = app.stream(topic, schema="n int, occurred timestamp, sent timestamp", time=clock)
        events.select("n", millis="unix_millis(_time)").to(f"{topic}-{name}")
    return runtime.run(app, until="now", flags={"broker": broker.address}, display=Silent())


def written(broker: Any, topic: str, name: str) -> dict[int, int]:
    rows = [json.loads(record.value or b"null") for record in peek.read(broker.connection, f"{topic}-{name}")]
    return {row["n"]: row["millis"] for row in rows}


def test_a_topic_with_its_producers_times_is_refused_with_the_command_that_mends_it(
    project: Any, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    topics.create(project.connection, topic, config={"message.timestamp.type": "CreateTime"})
    put_with_the_producer_s_time(project, topic, {"n": 1})
    device = hr.device_clock(occurred="occurred", sent="sent")
    for clock in (hr.log_append_time(), device):
        with pytest.raises(TopicError) as caught:
            run(project, topic, refused=clock)
        setting = "message.timestamp.type"
        assert caught.value.message == (
            f"the topic {topic} has its producers' times ({setting}=CreateTime), and this stream goes by the log's clock"
        )
        assert caught.value.fix == f"headrace topics alter {topic} --config {setting}=LogAppendTime"
        assert caught.value.where is not None
    # Whoever wants them can have the producer's.
    run(project, topic, record=hr.record_time(), default=None)
    assert written(project, topic, "record") == written(project, topic, "default") == {1: LONG_AGO}

    assert cli.main([*caught.value.fix.split()[1:], "--broker", project.address]) == 0
    put_with_the_producer_s_time(project, topic, {"n": 2})
    put_with_the_producer_s_time(project, topic, {"n": 3, "occurred": "2024-01-01T10:00:00Z", "sent": "2024-01-01T10:00:01Z"})
    summary = run(project, topic, log=hr.log_append_time(), device=device)
    # What was there before still has its producer's time: no result may rest on that.
    assert [total.bad for total in summary.totals] == [1, 2]
    records = [(json.loads(record.value or b"null")["n"], record.time) for record in peek.read(project.connection, topic)]
    appended = {n: round(time.timestamp() * 1000) for n, time in records if time is not None and n > 1}
    assert written(project, topic, "log") == appended
    assert written(project, topic, "device") == {3: appended[3] - 1000}
    assert min(appended.values()) > LONG_AGO


def test_topics_that_headrace_creates_have_the_log_s_times(project: Any, topic: str) -> None:
    send.send(project.connection, topic, send.rows([{"n": 1}]), create=True)
    put_with_the_producer_s_time(project, topic, {"n": 2})
    run(project, topic, log=hr.log_append_time())
    assert min(written(project, topic, "log").values()) > LONG_AGO
    topics.require_log_time(project.connection, f"{topic}-log")
