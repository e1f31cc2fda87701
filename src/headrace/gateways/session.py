"""One producer, from the fence to its end: transactions that hold records and the position after them.

open      a new producer with the fixed transactional id: initTransactions fences every earlier one and ends its transaction;
          then the committed position is read
add       begins a transaction with the first record
commit    the position goes in as the last record, then the commit
anything that fails: the session is closed, whatever the outcome was; the next one reads it from the log
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from headrace.broker import topics
from headrace.broker.client import Connection
from headrace.errors import RunError, StateError
from headrace.gateways import encode, positions
from headrace.gateways.positions import BadPosition, Stored
from headrace.plan.queries import dead_topic
from headrace.plan.source import Feed
from headrace.sources.custom import Record

_FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)  # pyright: ignore
_BATCH = 1_000_000
_POSITION = 100_000
_SERVE = 1000
_ABORT_SECONDS = 5.0


class Fenced(RunError):
    """Another instance of the source has started."""


class Broken(Exception):
    """The session can't continue; the next one finds out what was written."""


class Stopped(Exception):
    """The source was asked to stop."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a transaction is committed, whichever comes first, and how much memory may wait for the broker."""

    records: int = 50_000
    bytes: int = 16 << 20
    seconds: float = 0.2
    queue: int = 32 << 20
    timeout: float = 60.0
    """The broker aborts a transaction after this long."""


class Session:
    """Used by one thread at a time: the service's lock ensures it."""

    def __init__(self, connection: Connection, app: str, feed: Feed, limits: Limits, stopped: Callable[[], bool]) -> None:
        self._connection, self._app, self._feed, self._limits, self._stopped = connection, app, feed, limits, stopped
        self._trouble = False
        self._topic, self._dead = feed.topic, dead_topic(app)
        self._largest = topics.largest(connection, feed.topic)
        self._by_log = feed.timestamps == "log"
        self._topic_id = topics.ids(connection, [feed.topic])[feed.topic]
        self._queue = max(limits.queue, self._largest + _BATCH)
        self._largest_dead = min(topics.largest(connection, self._dead), self._queue)
        self._producer = self._fence()
        self.stored = self._read()
        self._clear()
        self.position: Any = self.stored.position
        """The position of the last record that had one."""

    def add(self, record: Record) -> None:
        value, key, timestamp, headers, position = record
        if type(value) is not bytes:
            value = encode.value(value)
        if key is not None and type(key) is not bytes:
            key = encode.key(key)
        more = encode.headers(headers) if headers else None
        millis = self._millis(timestamp) if timestamp is not None else 0
        # What it takes at most, without compression.
        size = encode.OVERHEAD + (len(value) if value else 0) + (len(key) if key else 0)
        if more:
            size += encode.headers_size(more)
        if position is not None:
            # Checked before it is sent: a record with a bad position must not be written.
            wrong = positions.moved(position, self.position)
            if wrong is not None:
                raise BadPosition(wrong, fix="yield each position once, and start read(after) after that position")
        if self.began == 0.0:
            self._producer.begin_transaction()
            self.began = time.monotonic()
        if size > self._largest:
            self._write_dead(value, key, more, size, position)
        else:
            self._produce(self._topic, value, key, more, -1, millis)
            self.records += 1
        self.bytes += size
        self.complete = position is not None
        if position is not None:
            self.position = positions.own(position)
        if (self.records + self.refused) % _SERVE == 0:
            self._producer.poll(0)

    @property
    def full(self) -> bool:
        return self.records + self.refused >= self._limits.records or self.bytes >= self._limits.bytes

    def commit(self) -> Stored:
        """What is in the transaction is in the topic when this returns; the last record must have had a position."""
        assert self.complete
        last = self.stored
        count = last.records + self.records + self.refused
        stored = Stored(self.position, count, last.transaction + 1, last.position, self._topic_id)
        value = positions.to_bytes(stored)
        if len(value) > _POSITION:
            raise BadPosition(f"a position of {len(value)} bytes is too large", fix=f"use at most {_POSITION} bytes")
        self._produce(positions.topic(self._app), value, self._feed.name.encode(), None, 0, 0)
        self._guarded(lambda: self._producer.commit_transaction(self._limits.timeout))
        self.stored = stored
        self._clear()
        return stored

    def renew(self) -> None:
        """Follows a commit: after trouble with a connection a late copy of it may be under way, and would end the next
        transaction (KAFKA-17754). A new producer's epoch makes it void."""
        if not self._trouble:
            return
        self._trouble = False
        self._producer = self._fence()
        if self._read() != self.stored:
            raise Broken("the position is not the one that was committed")

    def abort(self) -> None:
        """Aborts the open transaction, so that readers don't wait for it."""
        if self.began:
            with suppress(KafkaException):
                self._producer.purge(in_flight=False)
                self._producer.abort_transaction(_ABORT_SECONDS)
            self._clear()

    def close(self) -> None:
        """Nothing that is still in the producer may be sent: the next session would not know of it."""
        with suppress(KafkaException, RuntimeError):
            self._producer.purge()
            self._producer.poll(0)
        # The destructor ends its threads; close() would wait for a broker that may be gone.
        del self._producer

    def _clear(self) -> None:
        self.records = self.refused = self.bytes = 0
        self.began = 0.0
        self.complete = True

    def _fence(self) -> Producer:
        settings = self._connection.librdkafka(
            transactional_id=positions.transactional_id(self._app, self._feed.name),
            transaction_timeout_ms=int(self._limits.timeout * 1000),
            partitioner="murmur2_random",
            queue_buffering_max_kbytes=self._queue >> 10,
            message_max_bytes=max(self._largest, self._largest_dead),
            batch_size=min(_BATCH, self._largest),
            linger_ms=5,
            delivery_report_only_error=True,
        )
        producer = Producer({**settings, "error_cb": self._on_trouble})
        end = time.monotonic() + self._limits.timeout
        while True:
            if self._stopped():
                raise Stopped
            try:
                producer.init_transactions(2.0)
                return producer
            except KafkaException as e:
                if not e.args[0].retriable() or time.monotonic() > end:
                    raise Broken(e.args[0].str()) from e

    def _read(self) -> Stored:
        stored = positions.read(
            self._connection, self._app, self._feed.name, seconds=self._limits.timeout + 30, stopped=self._stopped
        )
        if self._stopped():
            raise Stopped
        if stored is None:
            return Stored(None, topic_id=self._topic_id)
        if stored.topic_id != self._topic_id:
            raise StateError(
                f"the source {self._feed.name!r} has the position {stored.position!r}, but for another topic: "
                f"{self._topic} was deleted and created again, or the source wrote to another one",
                where=self._feed.where,
                fix='give the source another name, and it starts at its beginning: custom(…, name="…")',
            )
        return stored

    def _on_trouble(self, error: KafkaError) -> None:
        self._trouble = True

    def _millis(self, timestamp: object) -> int:
        if self._by_log:
            raise encode.BadYield(
                "the source yielded a timestamp, but the log sets those of its topic",
                fix='write custom(…, timestamps="record")',
            )
        return encode.millis(timestamp)

    def _write_dead(
        self, value: bytes | None, key: bytes | None, headers: list[tuple[str, bytes | None]] | None, size: int, position: Any
    ) -> None:
        cause = f"a record of {size} bytes is too large for the topic {self._topic}, which takes {self._largest}"
        if size + len(cause) + 1000 > self._largest_dead:
            raise encode.BadYield(
                f"{cause}, and for the dead-letter topic, which takes {self._largest_dead}"
                + (f"; its position is {position!r}" if position is not None else f"; it comes after {self.position!r}"),
                fix=f"headrace topics alter {self._topic} --config max.message.bytes={size + 1000}",
            )
        number = self.stored.records + self.records + self.refused
        facts = {"topic": self._topic, "partition": "-1", "offset": str(number), "operator": "source", "cause": cause}
        described: list[tuple[str, bytes | None]] = [(f"headrace.{name}", text.encode()) for name, text in facts.items()]
        if key is not None:
            described.append(("headrace.key", key))
        if value is None:
            described.append(("headrace.value", b""))
        described += [(f"header.{name}", content) for name, content in headers or ()]
        place = f"{positions.transactional_id(self._app, self._feed.name)}/{self._topic}/-1/{number}"
        self._produce(self._dead, value, place.encode(), described, 0, 0)
        self.refused += 1

    def _produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: list[tuple[str, bytes | None]] | None,
        partition: int,
        millis: int,
    ) -> None:
        while True:
            try:
                if headers is None:
                    self._producer.produce(topic, value, key, partition, timestamp=millis)
                else:
                    self._producer.produce(topic, value, key, partition, timestamp=millis, headers=list(headers))
                return
            except BufferError:
                # The broker is slower than the source, which is not asked for more meanwhile.
                if self._stopped():
                    raise Stopped from None
                self._producer.poll(0.05)
            except KafkaException as e:
                self._failed(e)

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except KafkaException as e:
            self._failed(e)

    def _failed(self, e: KafkaException) -> None:
        error: KafkaError = e.args[0]
        if error.code() not in _FENCED:
            # The producer reports why only at its next call. After a commit with an unknown outcome it refuses this one.
            try:
                self._producer.abort_transaction(_ABORT_SECONDS)
            except KafkaException as next:
                error = next.args[0] if next.args[0].code() in _FENCED else error
        # A transaction that the broker ended because it took too long looks the same.
        if error.code() in _FENCED and time.monotonic() - self.began < self._limits.timeout:
            raise Fenced(
                f"another instance of the source {self._feed.name!r} of {self._app!r} has started, and this one stops",
                where=self._feed.where,
                fix='run one of them, or give one another name: custom(…, name="…")',
            ) from e
        raise Broken(error.str()) from e
