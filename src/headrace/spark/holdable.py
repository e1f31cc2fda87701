"""What the destinations of a query can't hold, found where the record it came from is still known."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from headrace.plan.nodes import Aggregate, KeyBy, Project
from headrace.plan.queries import QuerySpec
from headrace.spark.columns import column


def null_keys(spec: QuerySpec, node: Aggregate) -> list[Column]:
    """Why a row can't be grouped, if its group becomes a row of a table whose key can't be null."""
    last = spec.node
    # A condition in between may leave out the group of nulls.
    while isinstance(last, Project | KeyBy):
        last = last.input
    if last is not node:
        return []
    needed = {name: sink.label for sink in spec.sinks for name in sink.key(spec.node, spec.where)}
    return [
        F.when(column(name).isNull(), F.lit(f"{name} is null, and the rows of {needed[name]} have it as their key"))
        for name in node.input.key
        if name in needed
    ]


def nul_characters(spec: QuerySpec, rows: DataFrame) -> list[Column]:
    """Why a row can't be written, if it goes to a database whose texts have no NUL character."""
    sink = next((sink for sink in spec.sinks if sink.no_nul), None)
    texts = [name for name in spec.node.columns if sink is not None and isinstance(rows.schema[name].dataType, StringType)]
    return [
        F.when(column(name).contains("\0"), F.lit(f"{name} has a NUL character, which {sink and sink.label} can't hold"))
        for name in texts
    ]
