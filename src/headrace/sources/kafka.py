"""Records of a topic, with the fetch sizes that make Spark's Kafka source fast (docs/performance.md)."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from headrace.broker.client import Connection
from headrace.plan.nodes import Read

# More at a time is not faster: it lives until the garbage collector has moved it twice, and then it goes through the heap.
FETCH = {"kafka.max.poll.records": "5000", "kafka.max.partition.fetch.bytes": "2097152"}
IN_BATCHES = {"kafka.fetch.min.bytes": "262144", "kafka.fetch.max.wait.ms": "20"}
AT_ONCE = {"kafka.fetch.min.bytes": "1"}


def read(spark: SparkSession, source: Read, connection: Connection, *, batch: int | None) -> DataFrame:
    """`batch` is the most records of a micro-batch; None stands for real-time mode, which knows no such bound."""
    fetch = AT_ONCE if batch is None else {**IN_BATCHES, "maxOffsetsPerTrigger": str(batch)}
    return (
        spark.readStream.format("kafka")
        .options(**connection.spark(), **FETCH, **fetch)
        .option("kafka.isolation.level", "read_committed")
        .option("subscribe", source.topic)
        .option("startingOffsets", source.start)
        .option("failOnDataLoss", "true")
        .load()
    )
