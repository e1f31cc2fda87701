"""Empties a topic and keeps it: readers go on where they are, and a table's readers see every row go."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from headrace.broker import peek, topics
from headrace.broker.client import Connection
from headrace.errors import TopicError

_FLUSH_SECONDS = 60.0


def delete_rows(connection: Connection, topic: str) -> int:
    """A tombstone for each key that has a row, in the partition of that row; how many."""
    count = topics.require(connection, topic)
    failed: list[KafkaError] = []
    producer = connection.producer(enable_idempotence=True)

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            failed.append(error)

    rows = 0
    for partition in range(count):
        for key in peek.table(peek.read(connection, topic, partition=partition)).keys() - {None}:
            while True:
                try:
                    producer.produce(topic, None, key, partition, on_delivery=delivered)
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
            rows += 1
    if producer.flush(_FLUSH_SECONDS) or failed:
        why = failed[0].str() if failed else f"not acknowledged within {_FLUSH_SECONDS:.0f} s"
        raise TopicError(f"the rows of topic {topic} can't be deleted: {why}", fix="headrace status")
    return rows


def delete_records(connection: Connection, topic: str) -> None:
    """All records that are there now. Of a topic that only compacts no record can be deleted by its age: its rows are."""
    if topics.retains(connection, topic):
        delete_rows(connection, topic)
        return
    count = topics.require(connection, topic)
    ends = topics.offsets(connection, [(topic, number) for number in range(count)])
    asked = [TopicPartition(topic, number, end) for (_, number), (begin, end) in ends.items() if end > begin]
    try:
        for answer in connection.admin.delete_records(asked, request_timeout=topics.SECONDS).values() if asked else ():
            answer.result()
    except KafkaException as e:
        raise TopicError(f"the records of topic {topic} can't be deleted: {e.args[0].str()}", fix="headrace status") from e
