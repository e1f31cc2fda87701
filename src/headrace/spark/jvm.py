"""The door to the JVM: the only file that touches py4j. Everything Java that Headrace calls is a function here."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def _jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm  # pyright: ignore[reportPrivateUsage]


def kernel_version(spark: SparkSession) -> str:
    return str(_jvm(spark).headrace.kernel.Kernel.version())
