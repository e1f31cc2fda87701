"""The follower on a real broker: batches become visible as wholes, also after crashes and when the files are lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from headrace.broker import topics
from headrace.serve import follow
from headrace.serve.follow import Follower
from headrace.serve.store import Reader, Writer
from headrace.serve.view import Marks, View

PARTITIONS = 3


class Query:
    """Writes batches of a table as a query does: rows and mark in one transaction; and knows the table after each."""

    def __init__(self, broker: Any, topic: str) -> None:
        self.topic, self.marks = topic, f"{topic}-marks"
        topics.create(broker.connection, topic, partitions=PARTITIONS)
        topics.create(broker.connection, self.marks, partitions=1, config={"cleanup.policy": "compact"})
        self.producer = broker.connection.producer(transactional_id=topic)
        self.producer.init_transactions(30)
        self.rows: dict[str, int] = {}
        self.after: list[dict[str, int]] = [{}]
        self.ends: dict[str, int] = {}

    @property
    def view(self) -> View:
        types = (("id", "string"), ("n", "int"))
        return View(
            name="v", topic=self.topic, kind="table", key=("id",), columns=types, marks=Marks(self.marks, "q"), history=10**12
        )

    def write(self, changes: dict[str, int | None]) -> None:
        """One batch. Its rows add up to the same sum as those before, which half of a batch would not."""

        def sent(_: Any, message: Any) -> None:
            place = f"{message.topic()}/{message.partition()}"
            self.ends[place] = max(self.ends.get(place, 0), message.offset() + 1)

        self.producer.begin_transaction()
        for key, number in changes.items():
            value = None if number is None else json.dumps({"id": key, "n": number})
            self.producer.produce(self.topic, value, key, partition=hash(key) % PARTITIONS, on_delivery=sent)
            self.rows.pop(key, None) if number is None else self.rows.update({key: number})
        self.producer.flush()
        self.producer.produce(self.marks, b"mark", b"q", headers=[(follow.ENDS, json.dumps(self.ends).encode())])
        self.producer.commit_transaction()
        self.after.append(dict(self.rows))

    def abort(self, changes: dict[str, int]) -> None:
        self.producer.begin_transaction()
        for key, number in changes.items():
            self.producer.produce(self.topic, json.dumps({"id": key, "n": number}), key, partition=hash(key) % PARTITIONS)
        self.producer.flush()
        self.producer.abort_transaction()


def seen(reader: Reader) -> dict[str, int] | None:
    """What the view holds; None while it is being filled."""
    with reader.snapshot() as views:
        if not views.state("v").filled:
            return None
        rows = (json.loads(row.value) for _, row in views.rows("v"))
        return {row["id"]: row["n"] for row in rows}


def changes(chance: Random) -> dict[str, int | None]:
    keys = chance.sample(range(40), chance.randrange(1, 30))
    return {f"k{key}": None if chance.random() < 0.2 else chance.randrange(100) for key in keys}


def until(follower: Follower, reader: Reader, rows: dict[str, int]) -> list[dict[str, int]]:
    """Polls until the view holds these rows; all that was visible on the way."""
    found: list[dict[str, int]] = []
    for _ in range(600):
        now = seen(reader)
        if now is not None and (not found or found[-1] != now):
            found.append(now)
        if now == rows:
            return found
        follower.poll(0.1)
    raise AssertionError(f"{seen(reader)} instead of {rows}")


def test_every_batch_becomes_visible_as_a_whole_whatever_crashes(broker: Any, topic: str, tmp_path: Path) -> None:
    query, chance = Query(broker, topic), Random(topic)
    writer = Writer(tmp_path / "views")
    follower, reader = Follower(broker.connection, writer, [query.view]), Reader.beside(writer)
    until(follower, reader, {})
    written = 0
    for number in range(40):
        for _ in range(chance.randrange(1, 4)):
            if chance.random() < 0.2:
                query.abort({"k1": -1, "k2": -2, "k3": -3})
            query.write(changes(chance))
        if chance.random() < 0.6:
            for rows in until(follower, reader, query.rows):
                # Each state that could be seen is that after some batch, and none is older than the last one seen.
                assert rows in query.after[written:]
                written = written + query.after[written:].index(rows)
        if chance.random() < 0.4:
            follower.close()
            writer.close()
            if number % 7 == 0:
                shutil.rmtree(tmp_path / "views")
            writer = Writer(tmp_path / "views")
            follower, reader = Follower(broker.connection, writer, [query.view]), Reader.beside(writer)
    until(follower, reader, query.rows)
    assert follower.lag("v") <= 2 * PARTITIONS
    follower.close()


def test_a_batch_that_is_larger_than_what_is_held_becomes_visible_as_a_whole(
    broker: Any, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_HELD", 20_000)
    monkeypatch.setattr(follow, "_MESSAGES", 100)
    query = Query(broker, topic)
    writer = Writer(tmp_path)
    follower, reader = Follower(broker.connection, writer, [query.view]), Reader.beside(writer)
    until(follower, reader, {})
    for number in range(4):
        query.write({f"k{key}": number for key in range(3000)})
        assert until(follower, reader, query.rows) == [query.after[-2], query.rows]
    assert len(query.rows) == 3000
    follower.close()


def test_a_topic_without_marks_is_followed_record_by_record(broker: Any, topic: str, tmp_path: Path) -> None:
    topics.create(broker.connection, topic, partitions=PARTITIONS)
    producer = broker.connection.producer()
    rows: dict[str, int] = {}

    def send(count: int) -> None:
        for number in range(count):
            key = f"k{number % 50}"
            rows[key] = number
            producer.produce(topic, json.dumps({"id": key, "n": number}), key, partition=number % 50 % PARTITIONS)
        # One that is no row of the view: it has no key.
        producer.produce(topic, b"{}", partition=0)
        producer.flush()

    send(500)
    view = View(name="v", topic=topic, kind="table", key=("id",), columns=(("id", "string"),))
    writer = Writer(tmp_path)
    follower, reader = Follower(broker.connection, writer, [view]), Reader.beside(writer)
    states = until(follower, reader, rows)
    assert states == [rows], "it is read only when it is filled"
    send(100)
    until(follower, reader, rows)
    follower.close()
