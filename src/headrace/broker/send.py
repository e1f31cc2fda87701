"""Sends records to a topic: lines of a file or of stdin, or rows of a program."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from confluent_kafka import KafkaError, KafkaException

from headrace.broker import records, topics
from headrace.broker.client import Connection
from headrace.broker.records import Headers, Record
from headrace.errors import BadRecord, BrokerError, Where

Form = Literal["json", "text", "records"]
FLUSH_SECONDS = 30.0
RAW = "correct it, or send the lines as text: --raw"


@dataclass(frozen=True, slots=True)
class Sent:
    records: int
    bytes: int
    seconds: float


def send(
    connection: Connection,
    topic: str,
    what: Iterable[Record],
    *,
    rate: float | None = None,
    create: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Sent:
    """Sends all of it and returns once the broker has acknowledged; `rate` is records per second."""
    if create:
        topics.ensure(connection, topic)
    topics.require(connection, topic)
    producer = connection.sender
    failed: list[KafkaError] = []
    counts = {"records": 0, "bytes": 0}

    def delivered(error: KafkaError | None, message: Any) -> None:
        if error is not None:
            failed.append(error)
        else:
            counts["records"] += 1
            counts["bytes"] += len(message.value() or b"")

    began = time.monotonic()
    try:
        for number, record in enumerate(what):
            if failed:
                break
            if rate:
                # Delivery reports are served while waiting.
                while (left := began + number / rate - time.monotonic()) > 0:
                    producer.poll(left)
            _produce(producer, topic, record, delivered)
            if progress:
                progress(number + 1)
    except BadRecord as e:
        producer.flush(FLUSH_SECONDS)
        raise BadRecord(f"{e.message} ({counts['records']} records before it were sent)", where=e.where, fix=e.fix) from e
    left = producer.flush(FLUSH_SECONDS)
    if failed or left:
        connection.forget_sender()
        why = failed[0].str() if failed else f"{left} records were not acknowledged within {FLUSH_SECONDS:.0f} s"
        raise BrokerError(f"sending to {topic} failed after {counts['records']} records: {why}", fix="headrace status")
    return Sent(counts["records"], counts["bytes"], time.monotonic() - began)


def rows(given: Iterable[Mapping[str, Any]], *, key: str | None = None, headers: Headers = ()) -> Iterator[Record]:
    """Rows as JSON objects; the key is the text of one field."""
    for number, row in enumerate(given, 1):
        yield Record(records.dumps(row).encode(), _key(row, key, Where("row", number, "")), headers)


def lines(
    given: Iterable[bytes], *, form: Form = "json", key: str | None = None, headers: Headers = (), name: str = "stdin"
) -> Iterator[Record]:
    """One record a line: JSON, plain text, or the records that `headrace peek --json` writes. Empty lines are skipped."""
    for number, line in enumerate(given, 1):
        line = line.rstrip(b"\r\n")
        if not line.strip():
            continue
        if form == "text":
            yield Record(line, None, headers)
            continue
        where = Where(name, number, line[:120].decode(errors="replace"))
        value = _parsed(line, where)
        if form == "json":
            # The bytes go out as they came: no number is rounded, no field moved.
            yield Record(line, _key(value, key, where), headers)
            continue
        try:
            record = records.from_json(value)
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            raise BadRecord("this line is not a record", where=where, fix='{"key": …, "value": …, "headers": {…}}') from e
        yield Record(record.value, record.key, record.headers + headers)


def _produce(producer: Any, topic: str, record: Record, delivered: Callable[..., None]) -> None:
    while True:
        try:
            producer.produce(topic, record.value, record.key, headers=list(record.headers) or None, on_delivery=delivered)
        except BufferError:
            producer.poll(0.1)
        except KafkaException as e:
            raise BrokerError(f"sending to {topic} failed: {e.args[0].str()}") from e
        else:
            producer.poll(0)
            return


def _parsed(line: bytes, where: Where) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as e:
        raise BadRecord(f"this line is not JSON: {e.msg} at column {e.colno}", where=where, fix=RAW) from e
    except ValueError as e:
        raise BadRecord("this line is not UTF-8", where=where, fix=RAW) from e


def _key(row: Any, field: str | None, where: Where) -> bytes | None:
    if field is None:
        return None
    if not isinstance(row, Mapping):
        raise BadRecord(f"this line is not a JSON object, so it has no field {field} for the key", where=where)
    fields = cast("Mapping[str, Any]", row)
    if fields.get(field) is None:
        raise BadRecord(f"there is no field {field} for the key; fields: {', '.join(fields)}", where=where)
    return records.to_bytes(fields[field])
