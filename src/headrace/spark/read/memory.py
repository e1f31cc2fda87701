"""Records of a log inside of the JVM (kernel/log): what the testing kit feeds, and what `headrace check` compiles against."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.plan.nodes import Read
from headrace.sources.files import Files
from headrace.sources.kafka import HEADERS, Kafka
from headrace.spark.read import files

FORMAT = "headrace-memory"
_HEADERS = "array<struct<key: string, value: binary>>"


def read(spark: SparkSession, source: Read, log: str, topics: Collection[str] = ()) -> DataFrame:
    """`topics` are those that are there, for a source that takes whatever matches."""
    found = names(source, topics) or [source.label]
    frames = [spark.readStream.format(FORMAT).options(log=log, topic=topic).load() for topic in found]
    records = reduce(DataFrame.union, frames)
    if isinstance(source.source, Files):
        records = records.withColumn("value", files.in_memory(F.col("value"), source))
    return records.withColumn("headers", F.lit(None).cast(_HEADERS)) if HEADERS in source.hidden else records


def names(source: Read, topics: Collection[str] = ()) -> list[str]:
    """What stands for the source in a log: its topics, or one with its name."""
    match source.source:
        case Kafka(pattern=None) as kafka:
            return list(kafka.topics)
        case Kafka() as kafka:
            return [topic for topic in topics if kafka.reads(topic)]
        case _:
            return [source.label]
