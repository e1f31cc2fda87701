"""From a topic to a receiver, on a real broker: each effect once, whatever happens to the checkpoint."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.broker import send, topics
from headrace.errors import StateError
from headrace.runtime import run as runtime
from headrace.runtime.display import Silent
from tests.effects.receivers import HttpReceiver, SmtpReceiver


@pytest.fixture
def project(spark: Any, broker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    return broker


@pytest.fixture
def hook() -> Iterator[HttpReceiver]:
    receiver = HttpReceiver()
    yield receiver
    receiver.close()


def put(broker: Any, topic: str, *ids: int) -> None:
    rows = [{"id": id, "who": f"w{id % 3}@example.com"} for id in ids]
    send.send(broker.connection, topic, send.rows(rows, key="id"), create=True)


def run(app: hr.App, broker: Any) -> None:
    runtime.run(app, until="now", flags={"broker": broker.address}, display=Silent())


def cut(place: Path) -> None:
    """It died after the sink, before the commit."""
    last = max((place / "commits").glob("[0-9]*"), key=lambda file: int(file.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink()


def alerts(topic: str, hook: HttpReceiver, **options: Any) -> hr.App:
    app = hr.App(f"alerts-{topic}")
    alarm = hr.sinks.webhook(f"http://127.0.0.1:{hook.port}/", private=True, name="alarm", **options)
    app.stream(topic, schema="id int, who string").where("id > 0").to(alarm)
    return app


def test_each_row_is_one_call_also_after_a_crash(project: Any, topic: str, tmp_path: Path, hook: HttpReceiver) -> None:
    put(project, topic, 0, 1, 2, 2)
    run(alerts(topic, hook), project)
    cut(tmp_path / ".headrace" / "state" / f"alerts-{topic}" / "alarm")
    put(project, topic, 3)
    run(alerts(topic, hook), project)
    assert Counter(call.row["id"] for call in hook.log.entries) == Counter({1: 1, 2: 2, 3: 1})
    assert len({call.key for call in hook.log.entries}) == 4


def test_with_an_id_there_is_one_call_for_each(project: Any, topic: str, hook: HttpReceiver) -> None:
    put(project, topic, 1, 2, 2)
    run(alerts(topic, hook, id="{id}"), project)
    put(project, topic, 2, 3)
    run(alerts(topic, hook, id="{id}"), project)
    assert Counter(call.key for call in hook.log.entries) == Counter(["alarm:1", "alarm:2", "alarm:3"])


def test_an_outbox_from_an_older_copy_sends_nothing_a_second_time(
    project: Any, topic: str, tmp_path: Path, hook: HttpReceiver
) -> None:
    put(project, topic, 1)
    run(alerts(topic, hook), project)
    outbox = tmp_path / ".headrace" / "state" / f"alerts-{topic}" / "effects.db"
    with sqlite3.connect(outbox) as copy:
        # As of a moment at which the call was due.
        copy.execute("UPDATE outbox SET state = 'PENDING'")
    copy.close()
    shutil.copy(outbox, tmp_path / "copy.db")
    put(project, topic, 2)
    run(alerts(topic, hook), project)
    sent = len(hook.log.entries)
    shutil.copy(tmp_path / "copy.db", outbox)
    with pytest.raises(StateError, match=r"the outbox .*effects\.db holds results up to batch 0, .* batch 1 was confirmed"):
        run(alerts(topic, hook), project)
    assert len(hook.log.entries) == sent


def test_a_stream_goes_to_a_topic_a_database_and_people(project: Any, topic: str, tmp_path: Path) -> None:
    mails = SmtpReceiver()
    try:
        app = hr.App(f"all-{topic}")
        stream = app.stream(topic, schema="id int, who string")
        stream.to(f"{topic}-out")
        stream.to(hr.sinks.sqlite(tmp_path / "rows.db", table="rows"))
        stream.to(hr.sinks.email(to="{who}", subject="number {id}", server=f"127.0.0.1:{mails.port}"))
        assert len(app.queries()) == 1
        put(project, topic, *range(6))
        run(app, project)
        assert sorted(mail.message["Subject"] for mail in mails.log.entries) == [f"number {id}" for id in range(6)]
        assert sum(p.end - p.begin for p in topics.describe(project.connection, f"{topic}-out").partitions) >= 6
    finally:
        mails.close()
