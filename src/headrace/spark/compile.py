"""A plan -> a DataFrame: one fold, one match. What Spark refuses is told at the user's line."""

from __future__ import annotations

import re
from collections.abc import Callable

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.errors import PlanError
from headrace.plan.nodes import (
    TIME,
    Aggregate,
    Apply,
    Dedupe,
    Explode,
    Filter,
    Join,
    KeyBy,
    Merge,
    Node,
    Project,
    Source,
    inputs,
    walk,
)
from headrace.plan.queries import QuerySpec
from headrace.spark import functions, joins, jvm, windows
from headrace.spark.columns import column
from headrace.spark.decode import decode
from headrace.spark.encode import encode

Read = Callable[[Source], DataFrame]


def compile(spec: QuerySpec, read: Read, *, realtime: bool = False) -> DataFrame:
    """The records the query writes: key, value, topic. `read` gives the records of a source's topic."""
    records = encode(rows(spec, read), spec)
    try:
        jvm.check_streaming(records, spec.mode)
        if realtime:
            jvm.check_realtime(records)
    except AnalysisException as e:
        raise PlanError(explain(e), where=spec.where) from e
    return records


def rows(spec: QuerySpec, read: Read) -> DataFrame:
    """The rows the query gives, before they are encoded."""
    nodes = walk(spec.node)
    watermark = any(_needs_watermark(node) for node in nodes)
    frames: dict[int, DataFrame] = {}

    def frame(node: Node) -> DataFrame:
        return frames[id(node)]

    for node in nodes:
        try:
            frames[id(node)] = _frame(node, frame, read, watermark=watermark)
        except PySparkException as e:
            raise PlanError(explain(e), where=node.where) from e
    return frame(spec.node)


def _needs_watermark(node: Node) -> bool:
    match node:
        case Aggregate():
            return node.window is not None
        case Dedupe():
            return node.within is not None
        case Join():
            return True
        case Apply():
            return True
        case _:
            return False


def _frame(node: Node, frame: Callable[[Node], DataFrame], read: Read, *, watermark: bool) -> DataFrame:
    if node.udfs:
        functions.register(frame(inputs(node)[0]).sparkSession, node.udfs, node.where)
    match node:
        case Source():
            return decode(read(node), node, watermark=watermark)
        case Filter():
            return frame(node.input).where(node.condition)
        case Project():
            columns = [F.expr(text).alias(name) for name, text in node.items]
            return frame(node.input).select(*columns, *node.hidden)
        case Explode():
            kept = [column(name) for name in node.columns if name != node.name]
            return frame(node.input).select(*kept, F.explode(F.expr(node.expression)).alias(node.name), *node.hidden)
        case Apply():
            return _apply(node, frame(node.input))
        case Merge():
            first, *others = [frame(source).select(*map(column, node.columns), *node.hidden) for source in node.inputs]
            for other in others:
                first = first.union(other)
            return first
        case Join():
            return joins.join(node, frame(node.left), frame(node.right))
        case Dedupe():
            return _dedupe(node, frame(node.input))
        case KeyBy():
            return frame(node.input)
        case Aggregate():
            return windows.aggregate(node, frame(node.input))


def _apply(node: Apply, frame: DataFrame) -> DataFrame:
    result = node.function(frame)
    if not isinstance(result, DataFrame):
        raise PlanError(f"the function of apply() returned {type(result).__name__}, not a DataFrame", where=node.where)
    missing = [name for name in (*node.columns, TIME) if name not in result.columns]
    if missing:
        raise PlanError(
            f"what apply() returned lacks {', '.join(missing)}; it has {', '.join(result.columns)}",
            where=node.where,
            fix=f"keep {TIME}, and name the columns it returns: apply(f, columns=[…])",
        )
    return result.select(*map(column, node.columns), TIME)


def _dedupe(node: Dedupe, frame: DataFrame) -> DataFrame:
    if node.within is None:
        return frame.dropDuplicates(list(node.by))
    # Spark remembers a row for as long as its watermark waits; telling it another wait makes `within` free to choose.
    others = [column(name) for name in frame.columns if name != TIME]
    remembered = frame.select(*others, windows.timed(F.col(TIME), node.within))
    deduped = remembered.dropDuplicatesWithinWatermark(list(node.by))
    return deduped.select(*others, windows.timed(F.col(TIME), node.lateness or 0))


def explain(e: PySparkException) -> str:
    """Spark's sentence, without its code, its plan and its SQLSTATE."""
    text = (e.getMessage() or str(e)).strip()
    text = re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", text)
    text = re.split(r"\s*SQLSTATE: \w+|;?\s*line \d+ pos \d+|\n\s*'?[A-Z]\w+ |;\n|\n\n== ", text, maxsplit=1)[0]
    return " ".join(text.split()).rstrip(";. ")
