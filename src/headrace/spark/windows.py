"""Aggregates and windows on Spark's own operators.

A window is a group by its end. Spark closes a group when the watermark passes a grouping column that is marked as event time;
the mark is column metadata, so any column can carry it. That gives every window with fixed bounds, those with gaps too, in
one plain timestamp column instead of a struct.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.plan.nodes import TIME, Aggregate, Window
from headrace.spark.columns import column

_MARK = "spark.watermarkDelayMs"
_END = "_window_end"
_SESSION = "_session"


def timed(column: Column, lateness: int, name: str = TIME) -> Column:
    """The column, marked as event time."""
    return column.alias(name, metadata={_MARK: lateness // 1000})


def aggregate(node: Aggregate, frame: DataFrame) -> DataFrame:
    keys = [column(name) for name in node.input.key]
    aggregates = [F.expr(text).alias(name) for name, text in node.aggregates]
    names = [column(name) for name, _ in node.aggregates]
    if node.window is None:
        return frame.groupBy(*keys).agg(*aggregates)
    if node.window.kind == "session":
        groups = frame.groupBy(*keys, F.session_window(TIME, _micros(node.window.size)).alias(_SESSION)).agg(*aggregates)
        start, end = F.col(f"{_SESSION}.start"), F.col(f"{_SESSION}.end")
    else:
        groups = _with_end(node, frame).groupBy(*keys, _END).agg(*aggregates)
        end = F.col(_END)
        start = F.timestamp_micros(F.unix_micros(end) - node.window.size)
    final = node.emit == "final"
    result = groups.select(*keys, start.alias("window_start"), end.alias("window_end"), *names, F.lit(final).alias("final"))
    if not final:
        return result
    # As Spark's own window_time(): the last moment inside of the window.
    return result.select("*", timed(F.timestamp_micros(F.unix_micros("window_end") - 1), node.lateness or 0))


def _with_end(node: Aggregate, frame: DataFrame) -> DataFrame:
    window = node.window
    assert window is not None
    if window.every < window.size:
        slices = F.window(TIME, _micros(window.size), _micros(window.every), _micros(window.offset % window.every))
        frame = frame.select("*", slices.alias("_window"))
        end = F.col("_window.end")
    else:
        into = _into(window)
        if window.every > window.size:
            frame = frame.where(into < window.size)
        end = F.timestamp_micros(F.unix_micros(TIME) - into + window.size)
    marked = end.alias(_END) if node.lateness is None else timed(end, node.lateness, _END)
    return frame.select("*", marked)


def _into(window: Window) -> Column:
    """How far into its period an event is; right before 1970 too."""
    return F.pmod(F.unix_micros(TIME) - window.offset, F.lit(window.every))


def _micros(value: int) -> str:
    return f"{value} microseconds"
