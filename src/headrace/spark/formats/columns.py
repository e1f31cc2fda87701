"""Files whose records have columns already (spark/read/files.py): `value` is a struct, of text for CSV."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from headrace.plan.sql.types import article
from headrace.spark.columns import path
from headrace.spark.formats.codec import BAD, Codec, refusal


class ColumnsCodec(Codec):
    def decode(self, records: DataFrame, schema: StructType, *, fail: bool) -> Column:
        causes = [cause for field in schema.fields for cause in self._causes(field)]
        bad = F.coalesce(self._unreadable(), *causes, F.lit(None).cast("string"))
        if fail:
            bad = F.when(bad.isNotNull(), F.raise_error(refusal(bad)).cast("string"))
        return F.struct(*(self._cell(field).alias(field.name) for field in schema.fields), bad.alias(BAD))

    def encode(self, rows: DataFrame, columns: Sequence[str]) -> Column:
        raise AssertionError("topics have no such records")

    def _unreadable(self) -> Column:
        """Why a record has no columns at all."""
        return F.when(F.col("value").isNull(), F.lit("no columns")).cast("string")

    def _cell(self, field: StructField) -> Column:
        return F.col(path("value", field.name))

    def _causes(self, field: StructField) -> list[Column]:
        return (
            []
            if field.nullable
            else [F.when(self._cell(field).isNull(), F.lit(f"field {field.name}: missing or null, but required"))]
        )


class CsvCodec(ColumnsCodec):
    def _unreadable(self) -> Column:
        return F.coalesce(F.col(f"value.{BAD}"), super()._unreadable())

    def _cell(self, field: StructField) -> Column:
        text, kind = F.col(path("value", field.name)), field.dataType.simpleString()
        return text if kind == "string" else text.try_cast(field.dataType)

    def _causes(self, field: StructField) -> list[Column]:
        text, kind = F.col(path("value", field.name)), field.dataType.simpleString()
        said = (F.lit(f"field {field.name}: '"), F.substring(text, 1, 100), F.lit(f"' is not {article(kind)} {kind}"))
        wrong = text.isNotNull() & self._cell(field).isNull()
        utf8 = F.when(~F.is_valid_utf8(text), F.lit(f"field {field.name}: invalid UTF-8"))
        return [F.when(wrong, reduce(F.concat, said)), *([utf8] if kind == "string" else []), *super()._causes(field)]
