"""The fate of each record, noted where it happens: in the conditions of the plan (kernel: account).

A record that was read is bad, taken (it reached something that keeps state, or the output), late, or filtered. That is known on
the way in, as long as a row still is one record's (`traits.of_record`). What comes later is no record's any more.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.plan.nodes import Node
from headrace.plan.traits import of_record
from headrace.spark import jvm

PLACE = ("_topic", "_partition", "_offset")


def hidden(node: Node) -> tuple[str, ...]:
    """The columns that travel along, with the place of the record as long as a row is one record's."""
    return (*node.hidden, *(name for name in PLACE if of_record(node) and name not in node.hidden))


def read(frame: DataFrame) -> DataFrame:
    """All rows, each a record from the log."""
    return frame.where(_note("READ", True))


def skipped(frame: DataFrame, cause: Column) -> DataFrame:
    """The rows without a cause; the others are bad."""
    return frame.where(cause.isNull() | _note("BAD", False))


def filtered(frame: DataFrame, condition: Column) -> DataFrame:
    """The rows for which the condition holds."""
    # Spark's own words about a condition that is none are better than those about an `or`.
    frame.where(condition)
    return frame.where(condition | _note("FILTERED", False))


def taken(frame: DataFrame) -> DataFrame:
    """All rows, at the door of what keeps state or writes."""
    return frame.where(_note("TAKEN", True))


def keyed(frame: DataFrame, has_key: Column, inside: Column | None = None) -> DataFrame:
    """All rows, at the door of a table: without a key they are bad.

    Where `has_key` is null a row is not for the table; it is taken if it is `inside` of a stream, else filtered.
    """
    stream = F.when(F.lit(True) if inside is None else inside, _note("TAKEN", True)).otherwise(_note("FILTERED", True))
    return frame.where(F.when(has_key, _note("TAKEN", True)).when(~has_key, _note("BAD", True)).otherwise(stream))


def open_to(frame: DataFrame, passes: Column) -> DataFrame:
    """The rows that a window is open to; the others are late, unless another window takes them."""
    return frame.where((passes & _note("TAKEN", True)) | _note("LATE", False))


def timed(frame: DataFrame, end: Column, belongs: Column | None = None) -> DataFrame:
    """All rows, at the door of an operator that itself leaves out what ends (microseconds) at the watermark or before.

    Those that do not belong there are filtered.
    """
    noted = F.when(end <= jvm.watermark(frame.sparkSession), _note("LATE", True)).otherwise(_note("TAKEN", True))
    return frame.where(noted if belongs is None else F.when(belongs, noted).otherwise(_note("FILTERED", True)))


def _note(fate: str, answer: bool) -> Column:
    return jvm.note(fate, *map(F.col, PLACE), answer=answer)
