"""JSON objects: decoded by the kernel (kernel: JsonDecoder), encoded by Spark."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace.spark import jvm
from headrace.spark.columns import column
from headrace.spark.formats.codec import Codec

OPTIONS = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


class JsonCodec(Codec):
    def decode(self, records: DataFrame, schema: StructType, *, fail: bool) -> Column:
        place = map(F.col, ("value", "topic", "partition", "offset"))
        return jvm.decode_json(records.sparkSession, *place, schema=schema, fail=fail)

    def encode(self, rows: DataFrame, columns: Sequence[str]) -> Column:
        return F.to_json(F.struct(*map(column, columns)), OPTIONS)
