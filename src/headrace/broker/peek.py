"""Reads a topic without leaving a trace: from the start, the end, an offset or a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Literal

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from headrace.broker import topics
from headrace.broker.client import Connection
from headrace.broker.records import Stored
from headrace.errors import BrokerError, ConfigError
from headrace.plan import durations

Start = Literal["start", "end"] | int | datetime
_SAMPLE = 50


def read(
    connection: Connection,
    topic: str,
    *,
    start: Start = "start",
    partition: int | None = None,
    limit: int | None = None,
    follow: bool = False,
) -> Iterator[Stored]:
    """Committed records, in order within a partition, up to the end of the topic as it is now, or on and on.

    A negative `start` is that many offsets before the end of each partition.
    """
    numbers = _partitions(connection, topic, partition)
    consumer = connection.consumer(
        group_id="headrace-peek",
        enable_auto_commit=False,
        isolation_level="read_committed",
        enable_partition_eof=True,
        # At the end of a partition a fetch waits this long before it says so.
        fetch_wait_max_ms=50,
    )
    try:
        begins = _begins(connection, consumer, topic, numbers, start)
        yield from _poll(consumer, topic, begins, limit, follow)
    except KafkaException as e:
        raise BrokerError(f"reading {topic} failed: {e.args[0].str()}") from e
    finally:
        consumer.close()


def last(connection: Connection, topic: str, count: int, *, partition: int | None = None) -> list[Stored]:
    """The newest records by time; in a topic with many markers of transactions perhaps fewer."""
    found = list(read(connection, topic, start=-count, partition=partition)) if count else []
    return sorted(found, key=lambda r: (_time(r), r.partition, r.offset))[-count:]


def average_size(connection: Connection, topic: str) -> int:
    """The bytes of a recent record's key and value, on average; 0 where there is none."""
    if not topics.exists(connection, topic):
        return 0
    sizes = [len(record.key or b"") + len(record.value or b"") for record in read(connection, topic, start=-_SAMPLE)]
    return sum(sizes) // len(sizes) if sizes else 0


def table(stored: Iterable[Stored]) -> dict[bytes | None, Stored]:
    """The last value of each key; a tombstone removes the key.

    If no record has a key, they are the updates of one row, as `count()` of a whole stream writes them: the newest of all
    partitions. Beside records with keys, one without is no part of the table.
    """
    rows: dict[bytes | None, Stored] = {}
    keyed, newest = False, None
    for record in stored:
        if record.key is None:
            newest = record if newest is None or _time(record) >= _time(newest) else newest
            continue
        keyed = True
        rows.pop(record.key, None)
        if record.value is not None:
            rows[record.key] = record
    return {None: newest} if not keyed and newest is not None and newest.value is not None else rows


def _time(record: Stored) -> datetime:
    return record.time or datetime.min.replace(tzinfo=UTC)


def start_from(text: str, now: datetime | None = None) -> Start:
    """`start`, `end`, an offset, an ISO time (local unless it says otherwise) or `5 minutes ago`."""
    text = text.strip()
    if text in ("start", "end"):
        return text
    if text.isdigit():
        return int(text)
    ago = durations.parse(text.removesuffix("ago"))
    if ago is not None:
        return (now or datetime.now(UTC)) - timedelta(microseconds=ago)
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError as e:
        raise ConfigError(
            f"can't read from {text!r}", fix='start, end, an offset, a time such as 2026-01-31T09:30, or "5 minutes ago"'
        ) from e


def _partitions(connection: Connection, topic: str, partition: int | None) -> list[int]:
    count = topics.require(connection, topic)
    if partition is None:
        return list(range(count))
    if not 0 <= partition < count:
        raise BrokerError(f"topic {topic} has no partition {partition}", fix=f"one of 0 to {count - 1}")
    return [partition]


def _begins(connection: Connection, consumer: Consumer, topic: str, numbers: list[int], start: Start) -> dict[int, int]:
    ranges = {key[1]: found for key, found in topics.offsets(connection, [(topic, n) for n in numbers]).items()}
    match start:
        case "start":
            return {n: begin for n, (begin, _) in ranges.items()}
        case "end":
            return {n: end for n, (_, end) in ranges.items()}
        case int() if start < 0:
            return {n: max(begin, end + start) for n, (begin, end) in ranges.items()}
        case int():
            return {n: min(max(start, begin), end) for n, (begin, end) in ranges.items()}
        case datetime():
            millis = int(start.timestamp() * 1000)
            found = consumer.offsets_for_times([TopicPartition(topic, n, millis) for n in numbers], timeout=topics.SECONDS)
            # No record at or after that time: -1, which is the end.
            return {p.partition: p.offset if p.offset >= 0 else ranges[p.partition][1] for p in found}


def _poll(consumer: Consumer, topic: str, begins: dict[int, int], limit: int | None, follow: bool) -> Iterator[Stored]:
    consumer.assign([TopicPartition(topic, number, offset) for number, offset in begins.items()])
    reading, count = set(begins), 0
    while (reading or follow) and (limit is None or count < limit):
        for message in consumer.consume(500, timeout=0.1):
            error = message.error()
            number = message.partition()
            if error is None:
                # A partition that reached its end may go on meanwhile: what came later is for those who follow.
                if follow or number in reading:
                    yield _stored(message)
                    count += 1
            elif error.code() == KafkaError._PARTITION_EOF:  # pyright: ignore[reportPrivateUsage]
                reading.discard(number if number is not None else -1)
            elif error.fatal() or not error.retriable():
                raise KafkaException(error)
            if count == limit:
                return


def _stored(message: Message) -> Stored:
    kind, millis = message.timestamp()
    return Stored(
        value=_bytes(message.value()),
        key=_bytes(message.key()),
        headers=tuple((name, _bytes(value)) for name, value in message.headers() or []),
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        time=datetime.fromtimestamp(millis / 1000, UTC) if kind else None,
    )


def _bytes(field: str | bytes | None) -> bytes | None:
    return field.encode() if isinstance(field, str) else field
