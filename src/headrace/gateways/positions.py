"""The position of a source: stored in the transaction that holds the records up to it, and read after the fence."""

from __future__ import annotations

import json
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from headrace.broker import topics
from headrace.broker.client import Connection
from headrace.errors import BrokerError, RunError, StateError
from headrace.plan.queries import query_id

FORMAT = 1
_NUMBERS = (int, float)
_TOPIC = {
    "cleanup.policy": "compact",
    # A start reads the whole topic, so little of it may be uncompacted.
    "segment.bytes": str(16 << 20),
    "min.cleanable.dirty.ratio": "0.1",
}


class BadPosition(RunError):
    """A source's position that can't be stored, or that is not after the last one."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What the topic of positions holds for a source."""

    position: Any
    """The position after the last record; None before the first."""
    records: int = 0
    """How many records the source has written, refused ones included."""
    transaction: int = 0
    previous: Any = None
    topic_id: str = ""


def topic(app: str) -> str:
    return f"headrace.{app}.positions"


def transactional_id(app: str, name: str) -> str:
    """No query has a colon in its name, so no query has this id."""
    return query_id(app, f"source:{name}")


def ensure(connection: Connection, app: str) -> None:
    topics.ensure(connection, topic(app), partitions=1, config=_TOPIC)


def to_bytes(stored: Stored) -> bytes:
    """The position as JSON; refuses one that would be read back as something else."""
    text = {
        "format": FORMAT,
        "position": _packed(stored.position),
        "records": stored.records,
        "transaction": stored.transaction,
        "previous": _packed(stored.previous),
        "topic": stored.topic_id,
    }
    try:
        made = json.dumps(text, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        same = _unpacked(json.loads(made)["position"]) == stored.position
    except (TypeError, ValueError, RecursionError) as e:
        raise BadPosition(f"the position {stored.position!r} can't be stored as JSON: {e}", fix=_FIX) from e
    if not same:
        raise BadPosition(f"the position {stored.position!r} does not survive a round trip through JSON", fix=_FIX)
    return made


def from_bytes(value: bytes, name: str) -> Stored:
    try:
        found = json.loads(value)
        if found["format"] != FORMAT:
            raise StateError(
                f"the position of the source {name!r} has the format {found['format']}, and this Headrace reads {FORMAT}",
                fix="run the version that wrote it",
            )
        position, previous = _unpacked(found["position"]), _unpacked(found["previous"])
        return Stored(position, int(found["records"]), int(found["transaction"]), previous, str(found["topic"]))
    except (KeyError, TypeError, ValueError) as e:
        raise StateError(
            f"the position of the source {name!r} can't be read: {value[:200]!r}",
            fix="another program wrote it; delete the record, or give the source another name",
        ) from e


def read(
    connection: Connection, app: str, name: str, *, seconds: float, stopped: Callable[[], bool] = lambda: False
) -> Stored | None:
    """The committed position. Called after the fence: no transaction of the source is open then.

    Another source may have one open, which hides what comes after it; so this reads up to the end of the log as it is now.
    """
    place = topic(app)
    ((_, end),) = topics.offsets(connection, [(place, 0)]).values()
    consumer = connection.consumer(
        group_id="headrace-positions",
        enable_auto_commit=False,
        isolation_level="read_committed",
        enable_partition_eof=True,
        fetch_wait_max_ms=20,
        auto_offset_reset="earliest",
    )
    key, value, reached, deadline = name.encode(), None, 0, time.monotonic() + seconds
    try:
        consumer.assign([TopicPartition(place, 0, 0)])
        while reached < end and not stopped():
            if time.monotonic() > deadline:
                raise BrokerError(
                    f"the source {name!r} can't read its position: a transaction in {place} has been open for {seconds:.0f} s",
                    fix="headrace status",
                )
            for message in consumer.consume(500, timeout=0.2):
                error = message.error()
                if error is None:
                    value = message.value() if message.key() == key else value
                    reached = max(reached, (message.offset() or 0) + 1)
                elif error.code() == KafkaError._PARTITION_EOF:  # pyright: ignore[reportPrivateUsage]
                    reached = max(reached, message.offset() or 0)
                elif error.fatal() or not error.retriable():
                    raise KafkaException(error)
    finally:
        consumer.close()
    return None if value is None else from_bytes(value.encode() if isinstance(value, str) else value, name)


def moved(position: Any, last: Any) -> str | None:
    """What is wrong with a position that follows another; None if nothing.

    Only numbers can be compared; other positions can only be equal.
    """
    if position == last:
        return f"position {position!r} came twice"
    if isinstance(position, _NUMBERS) and isinstance(last, _NUMBERS) and position < last:
        return f"position {position!r} came after {last!r}: a position that is a number must grow"
    return None


def own(position: Any) -> Any:
    """One that a source does not change any more: it may keep its place in a dict, and yield that each time."""
    if not isinstance(position, (dict, list)):
        return position
    try:
        return deepcopy(cast(Any, position))
    except Exception as e:
        raise BadPosition(f"the position {position!r} can't be stored as JSON: {e}", fix=_FIX) from e


_FIX = "use text, bytes, a number, or a list or dict of JSON values"


def _packed(position: Any) -> Any:
    """Bytes as an object with one member, which a dict of the user's can't be mistaken for: those are wrapped too."""
    if isinstance(position, bytes):
        return {"bytes": b64encode(position).decode()}
    return {"dict": cast(Any, position)} if isinstance(position, dict) else position


def _unpacked(packed: Any) -> Any:
    if not isinstance(packed, dict):
        return packed
    found = cast("dict[str, Any]", packed)
    return b64decode(found["bytes"]) if "bytes" in found else found["dict"]
