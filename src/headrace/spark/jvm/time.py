"""Watermarks, gates and pulses."""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from headrace.spark.jvm.columns import column
from headrace.spark.jvm.session import java


def watermark(spark: SparkSession) -> Column:
    """The time before which all is closed, in microseconds; known when a batch is planned."""
    return column(java(spark).headrace.kernel.time.Gate.watermark())


def still_open(spark: SparkSession, end: Column, *, fails: bool) -> Column:
    """Whether what ends then (microseconds) is not closed yet; what is, is counted, or fails the query."""
    return column(java(spark).headrace.kernel.time.Gate.open(end._jc, fails))  # pyright: ignore


def with_pulses(records: DataFrame, name: str, column: str) -> DataFrame:
    """The records and, in the column, the times of a clock of that name; the records may have some there themselves."""
    pulses = records.sparkSession.readStream.format("headrace.kernel.time.PulseSource").option("name", name).load()
    if column not in records.columns:
        records = records.select("*", F.lit(None).cast("timestamp").alias(column))
    return records.unionByName(pulses, allowMissingColumns=True)


def pulse(spark: SparkSession, name: str, time: int) -> None:
    """The clock of that name has come so far, in microseconds since 1970."""
    java(spark).headrace.kernel.time.Pulses.beat(name, time)


def last_pulse(spark: SparkSession, name: str) -> int:
    """How far the clock of that name has come; 0 before the first pulse."""
    return int(java(spark).headrace.kernel.time.Pulses.last(name))


def late(query: StreamingQuery, batch: int) -> int:
    """How many rows the gates of a batch did not let through; removes the count."""
    # Not the active session: that is one of a thread, and whoever asks may be in another.
    jvm: Any = SparkContext._jvm  # pyright: ignore[reportPrivateUsage]
    return int(jvm.headrace.kernel.time.Gate.late(query.runId, batch))
