"""The operators of tables and windows, each from blocks to blocks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructField, StructType

from headrace.errors import PlanError
from headrace.plan.windows import Window
from headrace.spark.jvm.columns import column, java_columns
from headrace.spark.jvm.plans import output_mode
from headrace.spark.jvm.session import java

NO_VERSION = -(2**63)
"""The version of a change that holds whatever is known."""


def gather(changes: DataFrame, *, at_once: bool) -> DataFrame:
    """Changes with keys -> blocks by key, for an operator; with `at_once`, none waits for another."""
    return DataFrame(_operators(changes).gather(changes._jdf, at_once), changes.sparkSession)  # pyright: ignore


def pair(left: StructType, right: StructType) -> StructType:
    """The type of two rows in one, either of which may be null."""
    return StructType([StructField("left", left), StructField("right", right)])


def scatter(blocks: DataFrame, before: StructType, after: StructType, *, pairs: bool, at_once: bool) -> DataFrame:
    """An operator's blocks -> its changes, one a row, with the rows before and after as structs of these types."""
    out = _operators(blocks).scatter(blocks._jdf, before.json(), after.json(), pairs, at_once)  # pyright: ignore
    return DataFrame(out, blocks.sparkSession)


def newest(blocks: DataFrame, *, remember: bool, null_keys: bool, steps: str, mode: str) -> DataFrame:
    out = _operators(blocks).newest(blocks._jdf, remember, null_keys, steps.upper(), output_mode(blocks, mode))  # pyright: ignore
    return DataFrame(out, blocks.sparkSession)


def timeline(blocks: DataFrame, *, null_keys: bool, mode: str) -> DataFrame:
    return DataFrame(_operators(blocks).timeline(blocks._jdf, null_keys, output_mode(blocks, mode)), blocks.sparkSession)  # pyright: ignore


def lookup(blocks: DataFrame, *, outer: bool, versioned: bool, remember: bool, mode: str) -> DataFrame:
    out = _operators(blocks).lookup(blocks._jdf, outer, versioned, remember, output_mode(blocks, mode))  # pyright: ignore
    return DataFrame(out, blocks.sparkSession)


def as_of(blocks: DataFrame, *, outer: bool, history: int, counting: bool, computed: bool, mode: str) -> DataFrame:
    out = _operators(blocks).asOf(blocks._jdf, outer, history, counting, computed, output_mode(blocks, mode))  # pyright: ignore
    return DataFrame(out, blocks.sparkSession)


def table_join(
    blocks: DataFrame, *, left: bool, right: bool, by: str, sides: tuple[str, str], steps: str, mode: str
) -> DataFrame:
    out = _operators(blocks).join(blocks._jdf, left, right, by.upper(), *sides, steps.upper(), output_mode(blocks, mode))  # pyright: ignore
    return DataFrame(out, blocks.sparkSession)


def settle(blocks: DataFrame, *, steps: str, mode: str) -> DataFrame:
    return DataFrame(_operators(blocks).settle(blocks._jdf, steps.upper(), output_mode(blocks, mode)), blocks.sparkSession)  # pyright: ignore


def table_aggregate(blocks: DataFrame, split: Split, *, whole: bool, steps: str, mode: str) -> DataFrame:
    out = _operators(blocks).aggregate(blocks._jdf, split.java, whole, steps.upper(), output_mode(blocks, mode))  # pyright: ignore
    return DataFrame(out, blocks.sparkSession)


def _operators(frame: DataFrame) -> Any:
    return java(frame.sparkSession).headrace.kernel.table.Operators


class Calls:
    """Aggregate expressions over a frame's columns: the arguments of the calls in them, and the results computed from them."""

    _door: str

    def __init__(self, frame: DataFrame, expressions: Sequence[Column]) -> None:
        try:
            door: Any = getattr(java(frame.sparkSession), self._door)
            self.java: Any = door.of(frame._jdf, java_columns(expressions))  # pyright: ignore
        except IllegalArgumentException as error:
            raise PlanError(str(error).partition("\n")[0]) from None
        self.arguments = [column(each) for each in self.java.arguments()]
        self.results = [column(each) for each in self.java.results()]
        self.type = StructType.fromJson(json.loads(self.java.type().json()))


class Split(Calls):
    """Of these, what a row added can be retracted."""

    _door = "headrace.kernel.table.aggregate.Split"


class Aggregates(Calls):
    """Any aggregate of Spark's, over rows that are never retracted."""

    _door = "headrace.kernel.window.Aggregates"


def sliding(blocks: DataFrame, split: Split, *, size: int, emit: str, mode: str) -> DataFrame:
    door = java(blocks.sparkSession).headrace.kernel.slide.SlidingOperators
    return DataFrame(door.sliding(blocks._jdf, split.java, size, emit.upper(), output_mode(blocks, mode)), blocks.sparkSession)  # pyright: ignore


def windows(blocks: DataFrame, aggregates: Aggregates, window: Window, *, emit: str, tick: int, mode: str) -> DataFrame:
    door = java(blocks.sparkSession).headrace.kernel.window.WindowOperators
    kind = "fixed" if window.kind in ("tumbling", "hopping") else window.kind
    shape = (kind, window.size, window.every, window.offset, window.unit, window.zone)
    out = door.windows(blocks._jdf, aggregates.java, *shape, emit.upper(), tick, output_mode(blocks, mode))  # pyright: ignore
    return DataFrame(out, blocks.sparkSession)
