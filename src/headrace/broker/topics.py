"""Topics: list, create, describe, delete."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka import admin as admin_module

from headrace.broker.client import Connection
from headrace.errors import BrokerError, TopicError

# Its stubs export few of its names.
kafka: Any = admin_module
SECONDS = 10.0
BY_LOG = {"message.timestamp.type": "LogAppendTime"}
"""The log sets the timestamps of its records; by Kafka's default their producers do."""
BROKER_DEFAULT = -1
_LEADERLESS = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
)


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    partitions: int
    records: int
    """End minus begin: an upper bound where records were compacted or aborted."""


@dataclass(frozen=True, slots=True)
class Partition:
    number: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Description:
    name: str
    partitions: tuple[Partition, ...]
    config: Mapping[str, str]
    """What was set for this topic; the rest is the broker's default."""


def names(connection: Connection, *, internal: bool = False) -> list[str]:
    """Kafka's own topics start with two underscores."""
    return sorted(name for name in _metadata(connection) if internal or not name.startswith("__"))


def listing(connection: Connection, *, internal: bool = False) -> list[Topic]:
    found = _metadata(connection)
    shown = {name: len(found[name].partitions) for name in sorted(found) if internal or not name.startswith("__")}
    ranges = offsets(connection, [(name, number) for name, count in shown.items() for number in range(count)])
    return [
        Topic(name, count, sum(end - begin for begin, end in (ranges[name, number] for number in range(count))))
        for name, count in shown.items()
    ]


def exists(connection: Connection, name: str) -> bool:
    return name in _metadata(connection)


def require(connection: Connection, name: str) -> int:
    """The number of partitions of a topic that must exist."""
    found = _metadata(connection)
    if name in found:
        return len(found[name].partitions)
    close = difflib.get_close_matches(name, [other for other in found if not other.startswith("__")], n=3, cutoff=0.6)
    guess = f"; did you mean {' or '.join(close)}?" if close else ""
    raise TopicError(f"there is no topic {name} at {connection.address}{guess}", fix=f"headrace topics create {name}")


def create(
    connection: Connection, name: str, *, partitions: int | None = None, config: Mapping[str, str] | None = None
) -> None:
    """Creates a topic and returns once it can be written to; partitions and replicas default to the broker's."""
    settings = {**BY_LOG, **(config or {})}
    new = kafka.NewTopic(name, num_partitions=partitions or BROKER_DEFAULT, replication_factor=BROKER_DEFAULT, config=settings)
    try:
        connection.admin.create_topics([new], request_timeout=SECONDS)[name].result()
    except KafkaException as e:
        error: KafkaError = e.args[0]
        if error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
            raise TopicError(f"topic {name} exists already", fix=f"headrace topics describe {name}") from e
        raise TopicError(f"can't create topic {name}: {error.str()}") from e
    # The controller has it; clients ask the brokers, who hear of it a moment later.
    _until(lambda: _has_leaders(_metadata(connection).get(name)), f"topic {name} was created, but has no leader")
    offsets(connection, [(name, number) for number in range(require(connection, name))])


def ensure(
    connection: Connection, name: str, *, partitions: int | None = None, config: Mapping[str, str] | None = None
) -> bool:
    """Creates a topic unless it exists; True when it was created."""
    if exists(connection, name):
        return False
    try:
        create(connection, name, partitions=partitions, config=config)
    except TopicError:
        if exists(connection, name):
            return False
        raise
    return True


def ensure_dead(connection: Connection, name: str) -> None:
    """For dead letters: what is too large for other topics has to find its place there."""
    ensure(connection, name, partitions=1, config={"cleanup.policy": "compact", "max.message.bytes": str(100 << 20)})


def ids(connection: Connection, names: Collection[str]) -> dict[str, str]:
    """The ids of those of these topics that exist: a topic that is deleted and created again has another."""
    present = [name for name in names if name in _metadata(connection)]
    if not present:
        return {}
    try:
        asked = connection.admin.describe_topics(TopicCollection(present), request_timeout=SECONDS)
        return {name: str(answer.result().topic_id) for name, answer in asked.items()}
    except KafkaException as e:
        raise _refused("can't describe topics", e) from e


def describe(connection: Connection, name: str) -> Description:
    count = require(connection, name)
    ranges = offsets(connection, [(name, number) for number in range(count)])
    entries = _config(connection, name).values()
    own = {e.name: str(e.value) for e in entries if e.source == kafka.ConfigSource.DYNAMIC_TOPIC_CONFIG.value}
    return Description(name, tuple(Partition(n, *ranges[name, n]) for n in range(count)), dict(sorted(own.items())))


def alter(connection: Connection, name: str, config: Mapping[str, str]) -> None:
    """Sets some of a topic's settings and leaves the others as they are."""
    require(connection, name)
    operation = kafka.AlterConfigOpType.SET
    entries = [kafka.ConfigEntry(key, value, incremental_operation=operation) for key, value in config.items()]
    resource = kafka.ConfigResource(kafka.ConfigResource.Type.TOPIC, name, incremental_configs=entries)
    try:
        connection.admin.incremental_alter_configs([resource], request_timeout=SECONDS)[resource].result()
    except KafkaException as e:
        raise TopicError(f"can't change topic {name}: {e.args[0].str()}") from e


def require_log_time(connection: Connection, name: str) -> None:
    """Refuses a topic whose records have the time of their producers' clocks."""
    ((setting, value),) = BY_LOG.items()
    found = str(_config(connection, name)[setting].value)
    if found != value:
        raise TopicError(
            f"the topic {name} has its producers' times ({setting}={found}), and this stream goes by the log's clock",
            fix=f"headrace topics alter {name} --config {setting}={value}",
        )


def retention(connection: Connection, name: str) -> int | None:
    """For how many milliseconds a topic keeps its records; None for those it does not forget by their age."""
    entries = _config(connection, name)
    millis = int(entries["retention.ms"].value)
    return None if millis < 0 or "delete" not in str(entries["cleanup.policy"].value) else millis


def retains(connection: Connection, name: str) -> bool:
    """Whether records go only when newer ones with their keys come."""
    return "delete" not in str(_config(connection, name)["cleanup.policy"].value)


def largest(connection: Connection, name: str) -> int:
    """How large a record of the topic may be, in bytes."""
    return int(_config(connection, name)["max.message.bytes"].value)


def _config(connection: Connection, name: str) -> dict[str, Any]:
    resource = kafka.ConfigResource(kafka.ConfigResource.Type.TOPIC, name)
    try:
        return connection.admin.describe_configs([resource], request_timeout=SECONDS)[resource].result()
    except KafkaException as e:
        raise _refused(f"can't describe topic {name}", e) from e


def delete(connection: Connection, name: str) -> None:
    require(connection, name)
    try:
        connection.admin.delete_topics([name], request_timeout=SECONDS)[name].result()
    except KafkaException as e:
        raise TopicError(f"can't delete topic {name}: {e.args[0].str()}") from e
    _until(lambda: not exists(connection, name), f"topic {name} is still there after its deletion")


def offsets(
    connection: Connection, partitions: Iterable[tuple[str, int]], *, committed: bool = False
) -> dict[tuple[str, int], tuple[int, int]]:
    """First and next offset of each partition; `committed`: the next one that a reader of committed records gets to."""
    asked = [TopicPartition(topic, number) for topic, number in partitions]
    begin = _offsets(connection, asked, kafka.OffsetSpec.earliest())
    end = _offsets(connection, asked, kafka.OffsetSpec.latest(), committed=committed)
    return {key: (begin[key], end[key]) for key in begin}


def _offsets(
    connection: Connection, asked: list[TopicPartition], spec: Any, *, committed: bool = False
) -> dict[tuple[str, int], int]:
    """Asks again while a partition finds its leader: after a creation or a restart that takes a moment."""
    if not asked:
        return {}
    end = time.monotonic() + SECONDS
    while True:
        try:
            level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
            answers = connection.admin.list_offsets(dict.fromkeys(asked, spec), isolation_level=level, request_timeout=SECONDS)
            return {(part.topic, part.partition): answer.result().offset for part, answer in answers.items()}
        except KafkaException as e:
            if e.args[0].code() not in _LEADERLESS or time.monotonic() > end:
                raise _refused("can't read offsets", e) from e
            time.sleep(0.05)


def _metadata(connection: Connection) -> dict[str, Any]:
    try:
        return connection.admin.list_topics(timeout=SECONDS).topics
    except KafkaException as e:
        raise BrokerError(f"no Kafka broker answers at {connection.address}", fix="headrace status") from e


def _has_leaders(topic: Any) -> bool:
    return topic is not None and bool(topic.partitions) and all(p.leader >= 0 for p in topic.partitions.values())


def _until(holds: Callable[[], bool], otherwise: str) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        if time.monotonic() > end:
            raise TopicError(otherwise, fix="headrace status")
        time.sleep(0.02)


def _refused(what: str, e: KafkaException) -> BrokerError:
    return BrokerError(f"{what}: {e.args[0].str()}")
