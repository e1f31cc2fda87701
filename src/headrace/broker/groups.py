"""Consumer groups: how far a reader has come, for the tools that show lag."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition

from headrace.broker import topics
from headrace.broker.client import Connection
from headrace.errors import BrokerError

SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Lag:
    topic: str
    partition: int
    committed: int
    end: int

    @property
    def lag(self) -> int:
        return max(0, self.end - self.committed)


def commit(connection: Connection, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
    """Notes the next offset to read of each (topic, partition)."""
    if not offsets:
        return
    parts = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
    end = time.monotonic() + SECONDS
    while (error := _commit(connection, group, parts)) is not None:
        # A broker that has just started names a coordinator before that one is ready.
        if error.code() not in (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS) or time.monotonic() > end:
            raise BrokerError(f"can't commit offsets of group {group}: {error.str()}")
        time.sleep(0.1)


def _commit(connection: Connection, group: str, parts: list[TopicPartition]) -> KafkaError | None:
    try:
        # The default is a minute, in which a run that notes its progress would not see what becomes of its queries.
        of = [ConsumerGroupTopicPartitions(group, parts)]
        asked = connection.admin.alter_consumer_group_offsets(of, request_timeout=SECONDS)
        done: list[TopicPartition] = asked[group].result().topic_partitions
    except KafkaException as e:
        return e.args[0]
    return next((part.error for part in done if part.error is not None), None)


def lag(connection: Connection, group: str) -> list[Lag]:
    """What the group has committed, beside the ends of its partitions; empty for a group nobody knows."""
    try:
        asked = connection.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        found: list[TopicPartition] = asked[group].result().topic_partitions
    except KafkaException as e:
        raise BrokerError(f"can't read offsets of group {group}: {e.args[0].str()}") from e
    # A topic may be gone while the group still remembers it.
    live = set(topics.names(connection, internal=True))
    committed = {(p.topic, p.partition): p.offset for p in found if p.offset >= 0 and p.topic in live}
    ends = topics.offsets(connection, committed)
    return [Lag(*key, offset, ends[key][1]) for key, offset in sorted(committed.items())]
