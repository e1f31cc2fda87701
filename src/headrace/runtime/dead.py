"""Dead letters: the records that an application could not use, kept in a topic of its own until someone decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from confluent_kafka import KafkaException, Producer

from headrace.broker import peek, topics
from headrace.broker.client import Connection
from headrace.broker.records import Headers, Record, Stored, readable
from headrace.errors import BrokerError, ConfigError
from headrace.plan.queries import dead_topic, query_id

_OURS = "headrace."
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Letter:
    """A record as it was, where it was, and why it is here. A row that was too large to be written has no partition."""

    key: bytes
    query: str
    topic: str
    partition: int | None
    offset: int
    operator: str
    cause: str
    record: Record
    time: datetime | None

    @property
    def id(self) -> str:
        return f"{self.topic}/{'-' if self.partition is None else self.partition}/{self.offset}"


def letters(connection: Connection, app: str) -> list[Letter]:
    """Those that are neither replayed nor dropped, the oldest first."""
    topic = dead_topic(app)
    if not topics.exists(connection, topic):
        raise ConfigError(f"no application {app!r} has run at {connection.address}", fix="headrace dead list FILE.py")
    return [_letter(key, stored, app) for key, stored in peek.table(peek.read(connection, topic)).items()]


def find(connection: Connection, app: str, ids: Sequence[str]) -> list[Letter]:
    """Those of these ids, all that there are without any; two queries may have one of the same record."""
    found = letters(connection, app)
    if missing := [id for id in ids if not any(letter.id == id for letter in found)]:
        raise ConfigError(f"{app} has no dead letter {missing[0]}", fix=f"headrace dead list {app} shows those that are there")
    return [letter for letter in found if not ids or letter.id in ids]


def replay(connection: Connection, app: str, chosen: Sequence[Letter]) -> int:
    """Puts the records back where they came from, each once, and lets go of the letters: both or nothing."""
    records = {letter.id: letter for letter in chosen}
    return _settle(connection, app, chosen, list(records.values()))


def drop(connection: Connection, app: str, chosen: Sequence[Letter]) -> int:
    return _settle(connection, app, chosen, [])


def _settle(connection: Connection, app: str, done: Sequence[Letter], again: Sequence[Letter]) -> int:
    producer = connection.producer(transactional_id=f"{dead_topic(app)}/replay", partitioner="murmur2_random")
    try:
        producer.init_transactions(_SECONDS)
        producer.begin_transaction()
        for letter in again:
            headers: list[tuple[str, str | bytes | None]] = list(letter.record.headers)
            partition = -1 if letter.partition is None else letter.partition
            _produce(producer, letter.topic, letter.record.value, letter.record.key, partition=partition, headers=headers)
        for letter in done:
            _produce(producer, dead_topic(app), None, letter.key, partition=0)
        producer.commit_transaction(_SECONDS)
    except KafkaException as e:
        raise BrokerError(
            f"the broker did not say that it is done: {e.args[0].str()}",
            fix=f"headrace dead list {app} shows what is left: all of them, or none",
        ) from e
    return len(again or done)


def _produce(producer: Producer, *record: Any, **more: Any) -> None:
    """Waits for room in the queue."""
    while True:
        try:
            return producer.produce(*record, **more)
        except BufferError:
            producer.poll(0.1)


def _letter(key: bytes, stored: Stored, app: str) -> Letter:
    facts = {name.removeprefix(_OURS): value for name, value in stored.headers if name.startswith(_OURS)}
    headers: Headers = tuple((name, value) for name, value in stored.headers if not name.startswith(_OURS))
    partition = int(readable(facts["partition"]))
    return Letter(
        key=key,
        query=key.decode().removeprefix(query_id(app, "")).partition("/")[0],
        topic=readable(facts["topic"]),
        partition=None if partition < 0 else partition,
        offset=int(readable(facts["offset"])),
        operator=readable(facts["operator"]),
        cause=readable(facts["cause"]),
        record=Record(None if "value" in facts else stored.value, facts.get("key"), headers),
        time=stored.time,
    )
