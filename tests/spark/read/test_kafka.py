"""What is read of a topic: each committed record once, whatever lies between them and wherever batches end."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.broker import embedded, topics
from headrace.sources.kafka import Kafka
from headrace.spark.read import kafka

PARTITIONS = 3
CREATED = {"message.timestamp.type": "CreateTime"}
"""Timestamps are those that producers set."""
COLUMNS = ("topic", "partition", "offset", "key", "value", "timestamp", "timestampType")


def produce(broker: Any, topic: str, dice: random.Random) -> None:
    """Records outside of transactions, and in such that are committed, rolled back or both, one after the other."""
    plain = broker.connection.producer()
    inside = broker.connection.producer(transactional_id=f"{topic}-{dice.random()}")
    inside.init_transactions()
    for _ in range(dice.randrange(1, 8)):
        how = dice.choice(("plain", "commit", "commit", "abort"))
        producer = plain if how == "plain" else inside
        if how != "plain":
            inside.begin_transaction()
        for _ in range(dice.choice((1, 3, 25))):
            key, value = (dice.choice((None, b"", dice.randbytes(dice.randrange(1, 300)))) for _ in range(2))
            moment = time.time_ns() // 10**6 - dice.randrange(86_400_000)
            producer.produce(topic, key=key, value=value, partition=dice.randrange(PARTITIONS), timestamp=moment)
        producer.flush()
        if how == "commit":
            inside.commit_transaction()
        elif how == "abort":
            inside.abort_transaction()


def committed(broker: Any, topic: str) -> Counter[tuple[Any, ...]]:
    """What Kafka's C client says."""
    consumer = broker.connection.consumer(
        group_id="oracle", isolation_level="read_committed", enable_partition_eof=True, enable_auto_commit=False
    )
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(PARTITIONS)])
    found: Counter[tuple[Any, ...]] = Counter()
    ends = 0
    while ends < PARTITIONS:
        message = consumer.poll(20)
        assert message is not None
        if message.error() is not None:
            ends += 1
            continue
        cells = message.partition(), message.offset(), message.key(), message.value(), message.timestamp()[1] * 1000
        found[(topic, *cells, 0)] += 1
    consumer.close()
    return found


def run(rows: DataFrame, place: Path, before: Callable[[], Any] = int) -> Counter[tuple[Any, ...]]:
    """All that is there now, on top of what the checkpoint knows; `before` is called before each batch is read."""
    found: Counter[tuple[Any, ...]] = Counter()

    def keep(batch: DataFrame, _: int) -> None:
        before()
        for row in batch.select(*COLUMNS).withColumn("timestamp", F.unix_micros("timestamp")).collect():
            found[tuple(bytes(cell) if isinstance(cell, bytearray) else cell for cell in row)] += 1

    query = rows.writeStream.foreachBatch(keep).option("checkpointLocation", str(place)).trigger(availableNow=True).start()
    query.awaitTermination()
    assert sum(found.values()) == sum(report.numInputRows for report in query.recentProgress)
    return found


@pytest.mark.parametrize(("seed", "codegen"), [(1, True), (2, True), (3, False)])
def test_each_committed_record_is_read_once(
    spark: SparkSession, broker: Any, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, codegen: bool
) -> None:
    seed = seed + 1000 * random.randrange(10**6)
    print("seed", seed)
    dice = random.Random(seed)
    topics.create(broker.connection, topic, partitions=PARTITIONS, config=CREATED)
    # Few at a time, so that a poll ends anywhere in a batch and a batch anywhere in a poll.
    monkeypatch.setitem(kafka.FETCH, "kafka.max.poll.records", str(dice.choice((1, 2, 7, 50))))
    spark.conf.set("spark.sql.codegen.wholeStage", str(codegen).lower())
    try:
        read: Counter[tuple[Any, ...]] = Counter()
        for _ in range(3):
            produce(broker, topic, dice)
            batch = dice.choice((11, 60, 100_000))
            read += run(kafka.read(spark, Kafka(topics=(topic,)), broker.connection, batch=batch), tmp_path)
            assert read == committed(broker, topic)
    finally:
        spark.conf.unset("spark.sql.codegen.wholeStage")


def test_what_is_read_twice_in_a_batch_is_there_twice(spark: SparkSession, broker: Any, topic: str, tmp_path: Path) -> None:
    """By one consumer, one after the other."""
    topics.create(broker.connection, topic, partitions=PARTITIONS, config=CREATED)
    produce(broker, topic, random.Random(1))
    rows = kafka.read(spark, Kafka(topics=(topic,)), broker.connection, batch=20)
    assert run(rows.union(rows), tmp_path) == committed(broker, topic) + committed(broker, topic)


def test_a_broker_that_is_silent_for_a_while_loses_nothing(
    spark: SparkSession, broker: Any, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = embedded.status(broker.config).pid
    assert pid is not None
    topics.create(broker.connection, topic, partitions=PARTITIONS, config=CREATED)
    for _ in range(3):
        produce(broker, topic, random.Random(2))
    # Little at a time, so that a batch is not there before it is asked for.
    monkeypatch.setitem(kafka.FETCH, "kafka.max.partition.fetch.bytes", "1000")
    silences = iter((0.0, 3.0, 0.0, 3.0))

    def silence() -> None:
        if seconds := next(silences, 0.0):
            os.kill(pid, signal.SIGSTOP)
            threading.Timer(seconds, os.kill, (pid, signal.SIGCONT)).start()

    rows = kafka.read(spark, Kafka(topics=(topic,)), broker.connection, batch=30)
    try:
        assert run(rows, tmp_path, before=silence) == committed(broker, topic)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_log_with_nothing_but_what_was_rolled_back_has_no_records(
    spark: SparkSession, broker: Any, topic: str, tmp_path: Path
) -> None:
    topics.create(broker.connection, topic, partitions=PARTITIONS, config=CREATED)
    producer = broker.connection.producer(transactional_id=topic)
    producer.init_transactions()
    producer.begin_transaction()
    for number in range(100):
        producer.produce(topic, value=b"x", partition=number % PARTITIONS)
    producer.flush()
    producer.abort_transaction()
    assert run(kafka.read(spark, Kafka(topics=(topic,)), broker.connection, batch=7), tmp_path) == Counter()


def test_records_that_were_deleted_before_they_were_read_are_an_error(
    spark: SparkSession, broker: Any, topic: str, tmp_path: Path
) -> None:
    topics.create(broker.connection, topic, partitions=PARTITIONS, config=CREATED)
    producer = broker.connection.producer()
    for number in range(300):
        producer.produce(topic, value=str(number).encode(), partition=number % PARTITIONS)
    producer.flush()
    rows = kafka.read(spark, Kafka(topics=(topic,)), broker.connection, batch=1000)
    assert sum(run(rows, tmp_path).values()) == 300
    for number in range(300):
        producer.produce(topic, value=str(number).encode(), partition=number % PARTITIONS)
    producer.flush()
    admin = AdminClient(broker.connection.librdkafka())
    for deleted in admin.delete_records([TopicPartition(topic, 1, 150)]).values():
        deleted.result()
    with pytest.raises(Exception, match=r"KAFKA_DATA_LOSS|may have been lost"):
        run(rows, tmp_path)


def test_a_time_that_spark_does_not_know_is_an_error_and_no_other_time(
    spark: SparkSession, broker: Any, topic: str, tmp_path: Path
) -> None:
    topics.create(
        broker.connection, topic, partitions=PARTITIONS, config={**CREATED, "message.timestamp.after.max.ms": str(2**63 - 1)}
    )
    producer = broker.connection.producer()
    producer.produce(topic, value=b"x", partition=0, timestamp=time.time_ns())
    producer.flush()
    with pytest.raises(Exception, match="timestamp"):
        run(kafka.read(spark, Kafka(topics=(topic,)), broker.connection, batch=10), tmp_path)


def test_headers_are_read_where_they_are_asked_for(spark: SparkSession, broker: Any, topic: str) -> None:
    topics.create(broker.connection, topic, partitions=PARTITIONS, config=CREATED)
    producer = broker.connection.producer()
    producer.produce(topic, value=b"x", headers=[("a", b"b")])
    producer.flush()
    stream = spark.readStream.format("kafka").options(**broker.connection.spark()).option("subscribe", topic)
    rows = stream.option("startingOffsets", "earliest").option("includeHeaders", "true").load().select("value", "headers")
    query = rows.writeStream.format("memory").queryName("with_headers").trigger(availableNow=True).start()
    query.awaitTermination()
    ((value, ((name, content),)),) = spark.table("with_headers").collect()
    assert (value, name, content) == (b"x", "a", b"b")
