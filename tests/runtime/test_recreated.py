"""Topics that are deleted and created again while a run reads or writes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.broker import peek, send, topics
from headrace.broker.records import Record
from headrace.errors import StateError
from headrace.runtime import run as runtime
from headrace.runtime.display import Silent
from headrace.runtime.progress import Batch, Total
from headrace.spark import jvm


class Acts(Silent):
    """A display that does something at a batch, in the thread that looks after the queries."""

    def __init__(self, act: Callable[[int], None] = lambda batch: None) -> None:
        self._act = act

    def batch(self, batch: Batch, total: Total) -> None:
        self._act(batch.batch)


@pytest.fixture
def project(spark: Any, broker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    return broker


def put(project: Any, topic: str, values: range) -> None:
    send.send(project.connection, topic, (Record(json.dumps({"v": v}).encode()) for v in values), create=True)


def recreate(project: Any, topic: str, values: range = range(0)) -> None:
    topics.delete(project.connection, topic)
    topics.create(project.connection, topic, partitions=1)
    if values:
        put(project, topic, values)


def rows(project: Any, topic: str) -> list[int]:
    return sorted(json.loads(record.value or b"{}")["v"] for record in peek.read(project.connection, topic))


def run(app: hr.App, project: Any, act: Callable[[int], None] = lambda batch: None, **options: Any) -> None:
    flags = {"broker": project.address, "master": "local[2,4]", **options.pop("flags", {})}
    runtime.run(app, flags=flags, display=Acts(act), **options)


def copying(topic: str, **to: Any) -> hr.App:
    app = hr.App(f"copy-{topic}")
    app.stream(topic, schema="v int").to(f"{topic}-out", **to)
    return app


@pytest.mark.parametrize("count", [500, 3000])
def test_a_bounded_run_writes_nothing_of_a_topic_that_is_created_again_while_it_reads(
    project: Any, topic: str, count: int
) -> None:
    topics.create(project.connection, topic, partitions=1)
    put(project, topic, range(2000))

    def act(batch: int) -> None:
        if batch == 0:
            recreate(project, topic, range(10_000, 10_000 + count))

    with pytest.raises(StateError, match=f"'{topic}' is not the one that query .* has read") as refused:
        run(copying(topic), project, act, until="now", flags={"batch": "100"})
    assert refused.value.fix
    written = rows(project, f"{topic}-out")
    assert written == list(range(len(written))), "records of the new topic were written"
    with pytest.raises(StateError, match="deleted and created again"):
        run(copying(topic), project, until="now")


def test_a_batch_that_was_planned_over_the_new_topic_is_not_written(project: Any, topic: str) -> None:
    """The watch is put to sleep: what is left is the comparison before a batch is written."""
    topics.create(project.connection, topic, partitions=1)
    put(project, topic, range(1000))
    quick = runtime.incarnations._EVERY  # pyright: ignore[reportPrivateUsage]
    runtime.incarnations._EVERY = 3600.0  # pyright: ignore[reportPrivateUsage]
    try:
        # At least once, the batch is refused when it is planned; exactly once, before it is committed.
        for app in (copying(topic), copying(topic, name="again", delivery="at_least_once")):
            topics.ensure(project.connection, f"{topic}-out")
            before = len(rows(project, f"{topic}-out"))

            def act(batch: int) -> None:
                if batch == 0:
                    recreate(project, topic, range(10_000, 12_500))

            with pytest.raises(StateError, match="has read"):
                run(app, project, act)
            assert [v for v in rows(project, f"{topic}-out")[before:] if v >= 11_000] == []
            recreate(project, topic, range(1000))
    finally:
        runtime.incarnations._EVERY = quick  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("what", ["read", "output", "marks"])
def test_a_run_without_new_records_notices_too(project: Any, topic: str, what: str) -> None:
    put(project, topic, range(10))
    app = copying(topic)
    name = {"read": topic, "output": f"{topic}-out", "marks": f"headrace.copy-{topic}.marks"}[what]

    def act(batch: int) -> None:
        if batch == 0:
            recreate(project, name)

    with pytest.raises(StateError) as refused:
        run(app, project, act)
    assert f"'{name}'" in refused.value.message
    if what == "marks":
        assert refused.value.where is not None
        assert f"headrace repair {refused.value.where.file} {topic}-out" in (refused.value.fix or "")


def test_ids_are_the_same_in_both_languages(project: Any, spark: Any, topic: str) -> None:
    """Some have the characters in which the two alphabets differ."""
    names = [f"{topic}-{i}" for i in range(12)]
    for name in names:
        topics.create(project.connection, name, partitions=1)
    ids = topics.ids(project.connection, names)
    assert len(set(ids.values())) == len(names)
    client = project.connection.java()
    check = spark._jvm.headrace.kernel.source.TopicIds.check
    try:
        jvm.expect_topics(spark, topic, client, ids, planned=False)
        check(topic)
        jvm.expect_topics(spark, topic, client, {**ids, names[0]: ids[names[1]]}, planned=False)
        with pytest.raises(Exception, match=f"HEADRACE_RECREATED topic={names[0]}"):
            check(topic)
    finally:
        jvm.forget_topics(spark, topic)
