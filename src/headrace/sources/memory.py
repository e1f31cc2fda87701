"""Records of a log inside of the JVM (kernel/log): what the testing kit feeds, and what `headrace check` compiles against."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from headrace.plan.nodes import Read

FORMAT = "headrace-memory"


def read(spark: SparkSession, source: Read, log: str) -> DataFrame:
    return spark.readStream.format(FORMAT).options(log=log, topic=source.topic).load()
