"""Bytes as they are."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType, StructType

from headrace.errors import PlanError
from headrace.spark.columns import column
from headrace.spark.formats.codec import BAD, Codec
from headrace.spark.formats.text import record_key


class BytesCodec(Codec):
    def decode(self, records: DataFrame, schema: StructType, *, fail: bool) -> Column:
        return F.struct(*record_key(schema), F.col("value").alias("value"), F.lit(None).cast("string").alias(BAD))

    def encode(self, rows: DataFrame, columns: Sequence[str]) -> Column:
        return _binary(rows, "value")

    def key(self, rows: DataFrame, columns: Sequence[str]) -> Column:
        return _binary(rows, columns[0])


def _binary(rows: DataFrame, name: str) -> Column:
    kind = rows.schema[name].dataType
    if not isinstance(kind, BinaryType | StringType):
        raise PlanError(
            f'format="bytes" writes text or binary, and {name} is a {kind.simpleString()}',
            fix=f'encode it: with_columns({name}="encode(…, \'UTF-8\')"), or write format="text"',
        )
    return column(name).cast("binary")
