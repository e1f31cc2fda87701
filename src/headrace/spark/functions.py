"""Python functions for SQL text, on Arrow."""

from __future__ import annotations

import typing
from collections.abc import Iterable

import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headrace.errors import PlanError, Where
from headrace.plan.nodes import Udf

_ARROW: type = pa.Array  # pyright: ignore


def register(spark: SparkSession, udfs: Iterable[Udf], where: Where) -> None:
    for udf in udfs:
        if spark.sql(f"show system functions like '{udf.name}'").count():
            raise PlanError(f"{udf.name}() is a function of Spark's own", where=where, fix="give yours another name")
        hints = typing.get_type_hints(udf.function)
        hints.pop("return", None)
        if pd.Series in hints.values():
            made = F.pandas_udf(udf.function, udf.returns)  # pyright: ignore
        elif any(isinstance(hint, type) and issubclass(hint, _ARROW) for hint in hints.values()):
            made = F.arrow_udf(udf.function, udf.returns)  # pyright: ignore
        else:
            made = F.udf(udf.function, udf.returns, useArrow=True)
        spark.udf.register(udf.name, made)  # pyright: ignore
