"""Text in UTF-8."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType, TimestampType

from headrace.spark.columns import column
from headrace.spark.formats.codec import BAD, Codec, refusal
from headrace.spark.formats.json import OPTIONS, JsonCodec


class TextCodec(Codec):
    def decode(self, records: DataFrame, schema: StructType, *, fail: bool) -> Column:
        text = F.col("value").cast("string")
        bad = F.when(~F.is_valid_utf8(text), F.lit("invalid UTF-8"))
        if fail:
            bad = F.when(bad.isNotNull(), F.raise_error(refusal(bad)).cast("string"))
        return F.struct(*record_key(schema), text.alias("value"), bad.alias(BAD))

    def encode(self, rows: DataFrame, columns: Sequence[str]) -> Column:
        return of(rows, "value")

    def key(self, rows: DataFrame, columns: Sequence[str]) -> Column:
        return of(rows, columns[0]) if len(columns) == 1 else JsonCodec().encode(rows, columns)


def of(rows: DataFrame, name: str) -> Column:
    """As in JSON; a cast would write times another way, and different arrays alike."""
    match rows.schema[name].dataType:
        case TimestampType():
            return F.date_format(column(name), OPTIONS["timestampFormat"])
        case ArrayType() | MapType() | StructType():
            return F.to_json(column(name), OPTIONS)
        case _:
            return column(name).cast("string")


def record_key(schema: StructType) -> list[Column]:
    """A value without columns has no key in it: the columns before it are the record's key."""
    return [F.col("key").cast("string").alias(field.name) for field in schema.fields[:-1]]
