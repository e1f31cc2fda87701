"""Python functions for SQL text, on Arrow."""

from __future__ import annotations

import typing
from collections.abc import Iterable

import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headrace.plan.nodes import Udf

_ARROW: type = pa.Array  # pyright: ignore


def register(spark: SparkSession, udfs: Iterable[Udf]) -> None:
    for udf in udfs:
        hints = typing.get_type_hints(udf.function)
        hints.pop("return", None)
        if pd.Series in hints.values():
            made = F.pandas_udf(udf.function, udf.returns)  # pyright: ignore
        elif any(isinstance(hint, type) and issubclass(hint, _ARROW) for hint in hints.values()):
            made = F.arrow_udf(udf.function, udf.returns)  # pyright: ignore
        else:
            made = F.udf(udf.function, udf.returns, useArrow=True)
        spark.udf.register(udf.name, made)  # pyright: ignore
