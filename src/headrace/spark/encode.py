"""Rows -> records for a topic, in the formats of their value and key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructType

from headrace.errors import PlanError
from headrace.formats.bytes import Bytes
from headrace.plan.format import Format
from headrace.plan.nodes import Node, Write
from headrace.plan.queries import QuerySpec
from headrace.spark.columns import column
from headrace.spark.formats import codecs, text
from headrace.spark.tables import DELETED

HEADERS = "_record_headers"
"""The column with the headers of a row's record, where a query writes any."""
_HEADERS = "array<struct<key: string, value: binary>>"

Id = Sequence[tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the records of one stream or table are written; `binary` if those of any in its query are bytes."""

    node: Node
    value: Format
    key: Format
    binary: bool
    headers: bool = False
    """Whether records of its query have any."""

    @staticmethod
    def of(written: QuerySpec | Write, within: QuerySpec) -> Encoding:
        binary = any(isinstance(format, Bytes) for format in (within.format, within.key_format))
        return Encoding(written.node, written.format, written.key_format, binary, bool(within.headers))

    def columns(self, rows: DataFrame) -> tuple[Column, Column]:
        """A topic's key and value; of a deleted row there is no value."""
        node = self.node
        try:
            value = codecs.of(self.value).encode(rows, node.columns)
            key = codecs.of(self.key).key(rows, node.key) if node.key else F.lit(None)
        except PlanError as e:
            raise PlanError(e.message, where=node.where, fix=e.fix) from e
        if DELETED in rows.columns:
            value = F.when(~F.col(DELETED), value)
        # The kernel's sink takes the bytes of either (kernel: Rows).
        kind = "binary" if self.binary else "string"
        key, value = key.cast(kind), value.cast(kind)
        if node.kind == "table" and node.key:
            # A compacted topic takes no record without a key.
            key = F.coalesce(key, F.lit(null_key(node.key)).cast(kind))
        return key, value


def records(rows: DataFrame, encoding: Encoding, names: Sequence[str]) -> DataFrame:
    """The columns key, value and topic, as Spark's Kafka sink takes them; `names` are those of the topics."""
    topics = [F.lit(topic) for topic in names]
    topic = topics[0] if len(topics) == 1 else F.explode(F.array(*topics))
    key, value = encoding.columns(rows)
    headers = [_headers(rows).alias("headers")] if encoding.headers else []
    return rows.select(key.alias("key"), value.alias("value"), topic.alias("topic"), *headers)


def lines(rows: DataFrame, encoding: Encoding, route: int, row: StructType | None, id: Id | None = None) -> DataFrame:
    """The columns that the kernel's sink takes (kernel: Rows); `row` is the type of the row that goes beside the record."""
    key, value = encoding.columns(rows)
    if id is not None:
        # A null anywhere makes it null: of such rows nobody can say which are the same.
        key = F.concat(*(F.lit(piece) if name is None else F.concat(F.lit(piece), text.of(rows, name)) for piece, name in id))
    deleted = F.col(DELETED) if DELETED in rows.columns else F.lit(False)
    cells = F.struct(*map(column, encoding.node.columns)) if route == 0 else F.lit(None)
    beside = [] if row is None else [cells.cast(row).alias("row")]
    if encoding.headers:
        beside = [*(beside or [F.lit(None).cast("string").alias("row")]), _headers(rows).alias("headers")]
    return rows.select(key.alias("key"), value.alias("value"), F.lit(route).alias("route"), deleted.alias("deleted"), *beside)


def with_headers(rows: DataFrame, names: Sequence[str], values: Sequence[Column]) -> DataFrame:
    """The rows and, in a column, the headers of their records: text in UTF-8, bytes as they are, none for a null."""
    kinds = [field.dataType for field in rows.select(*(value.alias(str(i)) for i, value in enumerate(values))).schema]
    found = [value if isinstance(kind, BinaryType) else value.cast("string") for value, kind in zip(values, kinds, strict=True)]
    pairs = [F.struct(F.lit(name).alias("key"), v.cast("binary").alias("value")) for name, v in zip(names, found, strict=True)]
    return rows.withColumn(HEADERS, F.filter(F.array(*pairs), lambda pair: pair["value"].isNotNull()))


def _headers(rows: DataFrame) -> Column:
    return (F.col(HEADERS) if HEADERS in rows.columns else F.lit(None)).cast(_HEADERS)


def null_key(names: Sequence[str]) -> str:
    """The key of a row whose key is null, as text."""
    return json.dumps(dict.fromkeys(names), separators=(",", ":"), ensure_ascii=False)
