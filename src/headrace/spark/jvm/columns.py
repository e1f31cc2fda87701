"""Columns of Spark, there and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from pyspark.sql import Column, SparkSession

from headrace.spark.jvm.session import java


def java_columns(columns: Sequence[Column]) -> Any:
    spark = SparkSession.active()
    gateway = cast("Any", spark.sparkContext._gateway)  # pyright: ignore[reportPrivateUsage]
    array = gateway.new_array(java(spark).org.apache.spark.sql.Column, len(columns))
    for i, each in enumerate(columns):
        array[i] = each._jc  # pyright: ignore
    return array


def column(column: Any) -> Column:
    from pyspark.sql.classic.column import Column as ClassicColumn

    return ClassicColumn(column)
