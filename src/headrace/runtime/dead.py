"""Dead letters: the records that an application could not use, kept in a topic of its own until someone decides."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaException, Producer

from headrace.broker import peek, topics
from headrace.broker.client import Connection
from headrace.broker.records import DeadLetter, Headers, Record, Stored
from headrace.errors import BrokerError, ConfigError
from headrace.plan.queries import dead_topic, query_id

_FACT = "headrace."
_HEADER = "header."
_SECONDS = 60.0


def read(connection: Connection, app: str) -> list[DeadLetter]:
    """Those that are neither replayed nor dropped, the oldest first."""
    topic = dead_topic(app)
    if not topics.exists(connection, topic):
        raise ConfigError(f"no application {app!r} has run at {connection.address}", fix="headrace dead list FILE.py")
    stored = peek.table(peek.read(connection, topic))
    return [_dead_letter(key, each, app) for key, each in stored.items() if key is not None]


def find(connection: Connection, app: str, ids: Sequence[str]) -> list[DeadLetter]:
    """Those with these ids, or all; two queries may each have one of the same record."""
    found = read(connection, app)
    if missing := [id for id in ids if not any(each.id == id for each in found)]:
        raise ConfigError(f"{app} has no dead letter {missing[0]}", fix=f"headrace dead list {app} shows those that are there")
    return [each for each in found if not ids or each.id in ids]


def replay(connection: Connection, app: str, chosen: Sequence[DeadLetter]) -> int:
    """Puts the records back where they came from, each once, and removes the dead letters: both or neither."""
    if foreign := [each.id for each in chosen if each.foreign]:
        raise ConfigError(
            f"{foreign[0]} is not a dead letter: another program wrote it, and it came from no topic",
            fix=f"headrace dead drop {app} {foreign[0]}",
        )
    if row := next((each for each in chosen if each.from_file), None):
        raise ConfigError(
            f"{row.id} is a row of a file, which is not written again",
            fix=f"put the corrected row into a new file of the folder: headrace dead show {app} {row.id} shows it; "
            f"then headrace dead drop {app} {row.id}",
        )
    records = {each.id: each for each in chosen}
    return _settle(connection, app, chosen, list(records.values()))


def drop(connection: Connection, app: str, chosen: Sequence[DeadLetter]) -> int:
    return _settle(connection, app, chosen, [])


def _settle(connection: Connection, app: str, done: Sequence[DeadLetter], again: Sequence[DeadLetter]) -> int:
    producer = connection.producer(transactional_id=f"{dead_topic(app)}/replay", partitioner="murmur2_random")
    try:
        producer.init_transactions(_SECONDS)
        producer.begin_transaction()
        for each in again:
            headers: list[tuple[str, str | bytes | None]] = list(each.record.headers)
            partition = -1 if each.partition is None else each.partition
            _produce(producer, each.topic, each.record.value, each.record.key, partition=partition, headers=headers)
        for each in done:
            _produce(producer, dead_topic(app), None, each.key, partition=0)
        producer.commit_transaction(_SECONDS)
    except KafkaException as e:
        with suppress(KafkaException):
            # Otherwise readers would wait for it until it times out.
            producer.abort_transaction(_SECONDS)
        raise BrokerError(
            f"the broker did not confirm it: {e.args[0].str()}",
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


def _dead_letter(key: bytes, stored: Stored, app: str) -> DeadLetter:
    return _ours(key, stored, app) or DeadLetter(
        topic=dead_topic(app),
        partition=stored.partition,
        offset=stored.offset,
        operator="-",
        cause="not a dead letter: another program wrote this record to the topic of dead letters",
        query="-",
        record=Record(stored.value, stored.key, stored.headers),
        key=key,
        time=stored.time,
        foreign=True,
    )


def _ours(key: bytes, stored: Stored, app: str) -> DeadLetter | None:
    """None for what is not a dead letter. Facts can't be forged by a record: its own headers have a prefix."""
    facts = {name.removeprefix(_FACT): value for name, value in stored.headers if name.startswith(_FACT)}
    headers: Headers = tuple((name.removeprefix(_HEADER), value) for name, value in stored.headers if name.startswith(_HEADER))
    try:
        topic, operator, cause = ((facts[name] or b"").decode() for name in ("topic", "operator", "cause"))
        partition, offset = (int((facts[name] or b"").decode()) for name in ("partition", "offset"))
        query = key.decode().removesuffix(f"/{topic}/{partition}/{offset}").removeprefix(query_id(app, ""))
    except (KeyError, ValueError):
        return None
    if len(facts) + len(headers) < len(stored.headers) or not topic or "/" in query:
        return None
    return DeadLetter(
        topic=topic,
        partition=None if partition < 0 else partition,
        offset=offset,
        operator=operator,
        cause=cause,
        query=query,
        record=Record(None if "value" in facts else stored.value, facts.get("key"), headers),
        key=key,
        time=stored.time,
    )
