"""Python functions for SQL text, on Arrow. What one fails on becomes a dead letter, where the record it came of is known."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType, _parse_datatype_string  # pyright: ignore

from headrace.errors import PlanError, Where
from headrace.plan.nodes import Udf
from headrace.spark import jvm

_ARROW: type = pa.Array  # pyright: ignore
_PLACE = ("_topic", "_partition", "_offset")
_CALL = "_call_"
Function = Callable[..., Any]


def register(spark: SparkSession, udfs: Iterable[Udf], where: Where) -> None:
    """Under its name, and under another as one that does not fail: it gives the value or the cause."""
    for udf in udfs:
        if spark.sql(f"show system functions like '{udf.name}'").count():
            raise PlanError(f"{udf.name}() is a function of Spark's own", where=where, fix="give yours another name")
        both = StructType().add("value", _parse_datatype_string(udf.returns)).add("cause", StringType())
        hints = typing.get_type_hints(udf.function)
        hints.pop("return", None)
        if pd.Series in hints.values():
            made = F.pandas_udf(udf.function, udf.returns), F.pandas_udf(_pandas(udf.function), both)  # pyright: ignore
        elif any(isinstance(hint, type) and issubclass(hint, _ARROW) for hint in hints.values()):
            made = F.arrow_udf(udf.function, udf.returns), F.arrow_udf(_arrow(udf.function), both)  # pyright: ignore
        else:
            made = F.udf(udf.function, udf.returns, useArrow=True), F.udf(_one(udf.function), both, useArrow=True)
        spark.udf.register(udf.name, made[0])  # pyright: ignore
        spark.udf.register(_CALL + udf.name.lower(), made[1])  # pyright: ignore


def guarded(
    frame: DataFrame, udfs: Sequence[Udf], expressions: Sequence[Column], letters: jvm.DeadLetters | None, where: Where
) -> tuple[DataFrame, list[Column]]:
    """The rows on which none of the functions fails, and the expressions over them. The others are dead letters."""
    if not udfs or letters is None or not set(_PLACE) <= set(frame.columns):
        return frame, list(expressions)
    calls, over = jvm.calls(expressions, [udf.name for udf in udfs], _CALL)
    if not calls:
        return frame, over
    for call in calls:
        frame = frame.select("*", call)
    operator = f"{', '.join(udf.name for udf in udfs)}() at {where.file}:{where.line}"
    cause = F.coalesce(*(F.col(f"{_CALL}{number}.cause") for number in range(len(calls))))
    return frame.where(letters.good(operator, cause, *map(F.col, _PLACE))), over


def _cause(e: Exception) -> str:
    return f"{type(e).__name__}: {e}"


def _one(function: Function) -> Function:
    def call(*values: Any) -> tuple[Any, str | None]:
        try:
            return function(*values), None
        except Exception as e:
            return None, _cause(e)

    return call


def _pandas(function: Function) -> Function:
    """All at once; if that fails, row by row, to find those on which it does."""

    def call(*series: Any) -> Any:
        frame: Any = pd.DataFrame

        def alone(i: int) -> Any:
            return function(*(s.iloc[i : i + 1] for s in series)).iloc[0]

        try:
            return frame({"value": function(*series), "cause": None})
        except Exception:
            return frame([_one(alone)(i) for i in range(len(series[0]))], columns=["value", "cause"])

    return _annotated(call, pd.Series, pd.DataFrame)


def _arrow(function: Function) -> Function:
    def call(*arrays: Any) -> Any:
        arrow: Any = pa

        def alone(i: int) -> Any:
            return function(*(a[i : i + 1] for a in arrays))[0].as_py()

        try:
            values = function(*arrays)
            causes = arrow.nulls(len(values), arrow.string())
        except Exception:
            found, why = zip(*map(_one(alone), range(len(arrays[0]))), strict=True)
            values, causes = arrow.array(found), arrow.array(why, arrow.string())
        return arrow.StructArray.from_arrays([values, causes], ["value", "cause"])

    return _annotated(call, _ARROW, _ARROW)


def _annotated(call: Function, takes: type, gives: type) -> Function:
    """Spark goes by the hints."""
    call.__annotations__ = {"return": gives, **dict.fromkeys(call.__code__.co_varnames[:1], takes)}
    return call
