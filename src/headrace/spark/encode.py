"""Rows -> records for a topic: the key as text (or JSON, if it has several columns), the row as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType, TimestampType

from headrace.plan.nodes import Node
from headrace.spark.columns import column
from headrace.spark.tables import DELETED

Id = Sequence[tuple[str, str | None]]
_JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def records(rows: DataFrame, node: Node, names: Sequence[str]) -> DataFrame:
    """The columns key, value and topic, as Spark's Kafka sink takes them; `names` are those of the topics."""
    topics = [F.lit(topic) for topic in names]
    topic = topics[0] if len(topics) == 1 else F.explode(F.array(*topics))
    key, value = _record(rows, node)
    return rows.select(key.alias("key"), value.alias("value"), topic.alias("topic"))


def lines(rows: DataFrame, node: Node, route: int, row: StructType | None, id: Id | None = None) -> DataFrame:
    """The columns that the kernel's sink takes (kernel: Rows); `row` is the type of the row that goes beside the record."""
    key, value = _record(rows, node)
    if id is not None:
        # A null anywhere makes it null: of such rows nobody can say which are the same.
        key = F.concat(*(F.lit(text) if name is None else F.concat(F.lit(text), _text(rows, name)) for text, name in id))
    deleted = F.col(DELETED) if DELETED in rows.columns else F.lit(False)
    cells = F.struct(*map(column, node.columns)) if route == 0 else F.lit(None)
    beside = [] if row is None else [cells.cast(row).alias("row")]
    return rows.select(key.alias("key"), value.alias("value"), F.lit(route).alias("route"), deleted.alias("deleted"), *beside)


def _record(rows: DataFrame, node: Node) -> tuple[Column, Column]:
    """A topic's key and value; of a deleted row there is no value."""
    value = _json(node.columns)
    if DELETED in rows.columns:
        value = F.when(~F.col(DELETED), value)
    key = _key(rows, node)
    if node.kind == "table" and node.key:
        # A compacted topic takes no record without a key.
        key = F.coalesce(key, F.lit(null_key(node.key)))
    return key, value


def null_key(names: Sequence[str]) -> str:
    """The key of a row whose key is null, as text."""
    return json.dumps(dict.fromkeys(names), separators=(",", ":"), ensure_ascii=False)


def _key(rows: DataFrame, node: Node) -> Column:
    match node.key:
        case ():
            return F.lit(None).cast("string")
        case (one,):
            return _text(rows, one)
        case several:
            return _json(several)


def _text(rows: DataFrame, name: str) -> Column:
    """As in the value; a cast would write times another way, and different arrays alike."""
    match rows.schema[name].dataType:
        case TimestampType():
            return F.date_format(column(name), _JSON["timestampFormat"])
        case ArrayType() | MapType() | StructType():
            return F.to_json(column(name), _JSON)
        case _:
            return column(name).cast("string")


def _json(columns: tuple[str, ...]) -> Column:
    return F.to_json(F.struct(*map(column, columns)), _JSON)
