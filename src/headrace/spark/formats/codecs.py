"""Which codec a format has."""

from __future__ import annotations

from headrace.formats.bytes import Bytes
from headrace.formats.csv import Csv
from headrace.formats.json import Json
from headrace.formats.parquet import Parquet
from headrace.formats.text import Text
from headrace.plan.format import Format
from headrace.spark.formats.bytes import BytesCodec
from headrace.spark.formats.codec import Codec
from headrace.spark.formats.columns import ColumnsCodec, CsvCodec
from headrace.spark.formats.json import JsonCodec
from headrace.spark.formats.text import TextCodec

_CODECS: dict[type[Format], Codec] = {
    Json: JsonCodec(),
    Text: TextCodec(),
    Bytes: BytesCodec(),
    Csv: CsvCodec(),
    Parquet: ColumnsCodec(),
}


def of(format: Format) -> Codec:
    return _CODECS[type(format)]
