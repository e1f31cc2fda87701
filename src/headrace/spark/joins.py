"""Stream-stream joins on Spark's own operator."""

from __future__ import annotations

import re

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.errors import PlanError
from headrace.plan.nodes import TIME, Join
from headrace.spark import jvm, windows
from headrace.spark.columns import column

_SPARK_HOW = {"inner": "inner", "left": "left_outer", "right": "right_outer", "full": "full_outer"}


def join(node: Join, left: DataFrame, right: DataFrame) -> DataFrame:
    _same_types(node, left, right)
    # Each side's columns get names of their own, so that a stream can be joined with itself.
    left, right = _prefixed(left, node.left.columns, "_l_"), _prefixed(right, node.right.columns, "_r_")
    apart = F.expr(f"interval '{node.within // 1_000_000}.{node.within % 1_000_000:06}' second")
    near = (F.col(f"_r_{TIME}") >= F.col(f"_l_{TIME}") - apart) & (F.col(f"_r_{TIME}") <= F.col(f"_l_{TIME}") + apart)
    condition = near
    for name in node.on:
        mine, theirs = column(f"_l_{name}"), column(f"_r_{name}")
        # Spark looks partners up by key, where a null finds a null; SQL says they are not equal.
        condition &= (mine == theirs) & mine.isNotNull() & theirs.isNotNull()
    pairs = left.join(right, condition, _SPARK_HOW[node.how])
    columns = [_column(node, name).alias(name) for name in node.columns]
    # A pair happens when the later of the two does; of one that is alone the other time is null.
    time = F.greatest(F.col(f"_l_{TIME}"), F.col(f"_r_{TIME}"))
    return pairs.select(*columns, windows.timed(time, node.lateness or 0))


def kept(rows: DataFrame) -> list[str]:
    """What the joins in a query keep, in the user's names."""
    return [f"join of {re.sub(r'_[lr]_', '', types)}" for types in jvm.join_types(rows)]


def _same_types(node: Join, left: DataFrame, right: DataFrame) -> None:
    """Spark would convert one side, and fail on the first value that can't be."""
    for name in node.on:
        mine, theirs = left.schema[name].dataType.simpleString(), right.schema[name].dataType.simpleString()
        if mine != theirs:
            raise PlanError(
                f"the join's column {name!r} is {mine} on the left and {theirs} on the right",
                where=node.where,
                fix=f'bring one side to the type of the other: with_columns({name}="cast({name} as {mine})")',
            )


def _prefixed(frame: DataFrame, columns: tuple[str, ...], prefix: str) -> DataFrame:
    return frame.select(*(column(name).alias(prefix + name) for name in (*columns, TIME)))


def _column(node: Join, name: str) -> Column:
    if name in node.on:
        return F.coalesce(column(f"_l_{name}"), column(f"_r_{name}"))
    return column(f"_l_{name}") if name in node.left.columns else column(f"_r_{name}")
