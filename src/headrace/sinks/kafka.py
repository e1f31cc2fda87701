"""Records to topics through Spark's Kafka sink: at least once. After a crash the last batch may be written again."""

from __future__ import annotations

from typing import Literal

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.broker.client import Connection

LARGE = {"kafka.max.request.size": str(100 << 20), "kafka.buffer.memory": str(128 << 20)}
"""How large a record may be is for the topic to say (max.message.bytes), not for the producer."""


def write(
    records: DataFrame, connection: Connection, *, mode: Literal["append", "update"], linger_ms: int = 5
) -> DataStreamWriter:
    """A writer that lacks only its checkpoint and its trigger."""
    writer = records.writeStream.format("kafka").outputMode(mode)
    return (
        writer.options(**connection.spark(), **LARGE)
        .option("kafka.enable.idempotence", "true")
        .option("kafka.linger.ms", linger_ms)
    )
