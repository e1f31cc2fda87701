"""What Spark says of a plan before it runs."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from headrace.spark.jvm.session import java


def output_mode(frame: DataFrame, mode: str) -> Any:
    modes = java(frame.sparkSession).org.apache.spark.sql.streaming.OutputMode
    return modes.Append() if mode == "append" else modes.Update()


def check_streaming(frame: DataFrame, mode: str) -> None:
    """What Spark says of a streaming plan when a query starts, said before it starts."""
    checker = java(frame.sparkSession).org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    checker.checkForStreaming(frame._jdf.queryExecution().analyzed(), output_mode(frame, mode))  # pyright: ignore


def check_realtime(frame: DataFrame) -> None:
    """What Spark says besides when a query starts in real-time mode; some it says only when that runs."""
    jvm = java(frame.sparkSession)
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    update = jvm.org.apache.spark.sql.streaming.OutputMode.Update()
    checker.checkAdditionalRealTimeModeConstraints(frame._jdf.queryExecution().analyzed(), update)  # pyright: ignore


def aggregate_types(groups: DataFrame) -> list[str]:
    """What Spark's own aggregate keeps: the calls in it with their types."""
    return [str(text) for text in java(groups.sparkSession).headrace.kernel.StateTypes.aggregates(groups._jdf)]  # pyright: ignore


def join_types(rows: DataFrame) -> list[str]:
    """What Spark's own joins of streams keep: the columns of both sides with their types."""
    return [str(text) for text in java(rows.sparkSession).headrace.kernel.StateTypes.joins(rows._jdf)]  # pyright: ignore
