"""Python functions for SQL text, on Arrow; each also in a form that does not fail, but says on which row it would have."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType, _parse_datatype_string  # pyright: ignore

from headrace.errors import PlanError, Where
from headrace.plan.nodes import Udf
from headrace.spark.guard import CALL
from headrace.spark.returns import Fit

_ARROW: type = pa.Array  # pyright: ignore
Function = Callable[..., Any]


def register(spark: SparkSession, udfs: Iterable[Udf], where: Where) -> None:
    """Under its name, and under another as one that does not fail: it gives the value or the cause."""
    for udf in udfs:
        if spark.sql(f"show system functions like '{udf.name}'").count():
            raise PlanError(f"{udf.name}() is a function of Spark's own", where=where, fix="give yours another name")
        returns = _parse_datatype_string(udf.returns)
        both, fit = StructType().add("value", returns).add("cause", StringType()), Fit(udf.name, returns)
        hints = typing.get_type_hints(udf.function)
        hints.pop("return", None)
        if pd.Series in hints.values():
            made = F.pandas_udf(udf.function, udf.returns), F.pandas_udf(_pandas(udf.function, fit), both)  # pyright: ignore
        elif any(isinstance(hint, type) and issubclass(hint, _ARROW) for hint in hints.values()):
            made = F.arrow_udf(udf.function, udf.returns), F.arrow_udf(_arrow(udf.function, fit), both)  # pyright: ignore
        else:
            made = F.udf(udf.function, udf.returns, useArrow=True), F.udf(_one(udf.function, fit), both, useArrow=True)
        spark.udf.register(udf.name, made[0])  # pyright: ignore
        spark.udf.register(CALL + udf.name.lower(), made[1])  # pyright: ignore


def _cause(e: Exception) -> str:
    return f"{type(e).__name__}: {e}"


def _one(function: Function, fit: Fit) -> Function:
    def call(*values: Any) -> tuple[Any, str | None]:
        try:
            return fit(function(*values)), None
        except Exception as e:
            return None, _cause(e)

    return call


def _pandas(function: Function, fit: Fit) -> Function:
    """All at once; if that fails, row by row, to find those on which it does."""

    def call(*series: Any) -> Any:
        frame: Any = pd.DataFrame

        def alone(i: int) -> Any:
            return function(*(s.iloc[i : i + 1] for s in series)).iloc[0]

        try:
            values: Any = function(*series)
            fit.check(values)
        except Exception:
            return frame([_one(alone, fit)(i) for i in range(len(series[0]))], columns=["value", "cause"])
        return frame({"value": fit.long_enough(values, len(series[0])), "cause": None})

    return _annotated(call, pd.Series, pd.DataFrame)


def _arrow(function: Function, fit: Fit) -> Function:
    def call(*arrays: Any) -> Any:
        arrow: Any = pa

        def alone(i: int) -> Any:
            return function(*(a[i : i + 1] for a in arrays))[0].as_py()

        try:
            values = fit.check(function(*arrays))
        except Exception:
            found, why = zip(*map(_one(alone, fit), range(len(arrays[0]))), strict=True)
            values, causes = arrow.array(found, fit.arrow), arrow.array(why, arrow.string())
        else:
            causes = arrow.nulls(len(fit.long_enough(values, len(arrays[0]))), arrow.string())
        return arrow.StructArray.from_arrays([values, causes], ["value", "cause"])

    return _annotated(call, _ARROW, _ARROW)


def _annotated(call: Function, takes: type, gives: type) -> Function:
    """Spark goes by the hints."""
    call.__annotations__ = {"return": gives, **dict.fromkeys(call.__code__.co_varnames[:1], takes)}
    return call
