"""Rows -> records for a topic: the key as text (or JSON, if it has several columns), the row as JSON."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.plan.queries import QuerySpec

_JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def encode(rows: DataFrame, spec: QuerySpec) -> DataFrame:
    """The columns key, value and topic, as Spark's Kafka sink takes them."""
    topics = [F.lit(topic) for topic in spec.topics]
    topic = topics[0] if len(topics) == 1 else F.explode(F.array(*topics))
    return rows.select(_key(spec).alias("key"), _json(spec.node.columns).alias("value"), topic.alias("topic"))


def _key(spec: QuerySpec) -> Column:
    match spec.node.key:
        case ():
            return F.lit(None).cast("string")
        case (one,):
            return F.col(f"`{one}`").cast("string")
        case several:
            return _json(several)


def _json(columns: tuple[str, ...]) -> Column:
    return F.to_json(F.struct(*(F.col(f"`{name}`") for name in columns)), _JSON)
