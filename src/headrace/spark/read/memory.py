"""Records of a log inside of the JVM (kernel/log): what the testing kit feeds, and what `headrace check` compiles against."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from headrace.plan.nodes import Read
from headrace.spark.read import inputs

FORMAT = "headrace-memory"


def read(spark: SparkSession, source: Read, log: str, topics: Collection[str] = ()) -> DataFrame:
    """`topics` are those that exist, for a source that reads all that match a pattern."""
    found = names(source, topics) or [source.label]
    frames = [spark.readStream.format(FORMAT).options(log=log, topic=topic).load() for topic in found]
    return inputs.kind(source.source).in_memory(reduce(DataFrame.union, frames), source)


def names(source: Read, topics: Collection[str] = ()) -> list[str]:
    """The source's topics in a log, or one with its name."""
    return inputs.kind(source.source).fed(source.source, topics)
