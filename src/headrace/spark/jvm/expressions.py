"""Expressions of the kernel: decoders, guards, calls of functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.errors import PlanError
from headrace.spark.jvm.columns import column, java_columns
from headrace.spark.jvm.session import java


def decode_json(
    spark: SparkSession, value: Column, topic: Column, partition: Column, offset: Column, *, schema: StructType, fail: bool
) -> Column:
    """A record's value, JSON in UTF-8, as a struct: the schema's fields and, last, `_bad`, the cause when the record is bad.

    With `fail`, a bad record stops the query instead. Select the column once under a name and use its fields by that name:
    Spark never merges or copies it, so used twice it decodes twice.
    """
    columns: list[Any] = [column._jc for column in (value, topic, partition, offset)]  # pyright: ignore
    try:
        decoded = java(spark).headrace.kernel.json.JsonDecoder.column(*columns, schema.json(), fail)
    except IllegalArgumentException as error:
        raise PlanError(str(error).partition("\n")[0]) from None
    return column(decoded)


class FunctionCalls:
    """The calls of some functions in expressions (kernel: FunctionCalls); `over` is the expressions over their results."""

    def __init__(self, expressions: Sequence[Column], names: Sequence[str], prefix: str) -> None:
        self._java = java(SparkSession.active()).headrace.kernel.guard.FunctionCalls(list(names), prefix)
        self.over = [column(self._java.without(expression._jc)) for expression in expressions]  # pyright: ignore

    def __len__(self) -> int:
        return int(self._java.size())

    def arguments(self, number: int) -> list[Column]:
        return [column(argument) for argument in self._java.arguments(number)]

    def call(self, number: int, arguments: Sequence[Column]) -> Column:
        return column(self._java.call(number, java_columns(arguments)))


def guards(
    frame: DataFrame, expressions: Sequence[Column], prefix: str, *, aggregates: bool = False
) -> tuple[list[Column], list[Column]]:
    """What in the expressions can fail on a row, as columns of the frame (kernel: Guards), and the expressions over these.

    The last of the columns, called as the prefix, is the cause where one of them failed.
    """
    made = java(frame.sparkSession).headrace.kernel.guard.Guards
    taken = (made.ofAggregates if aggregates else made.of)(frame._jdf, java_columns(expressions), prefix)  # pyright: ignore
    return [column(each) for each in taken.columns()], [column(each) for each in taken.over()]
