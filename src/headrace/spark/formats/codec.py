"""What a format can do: the contract of decoders and encoders."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

BAD = "_bad"


class Codec(ABC):
    """One format, in both directions."""

    @abstractmethod
    def decode(self, records: DataFrame, schema: StructType, *, fail: bool) -> Column:
        """A struct of the schema's fields and `_bad`; a field that is not nullable and missing makes the record bad."""

    @abstractmethod
    def encode(self, rows: DataFrame, columns: Sequence[str]) -> Column:
        """The value of a record, text or binary."""

    def key(self, rows: DataFrame, columns: Sequence[str]) -> Column:
        """The key of a record; there is at least one column."""
        return self.encode(rows, columns)


def refusal(cause: Column, prefix: str = "") -> Column:
    """What the kernel's decoder says of a record it refuses, for what Spark decodes."""
    place = (
        F.lit("HEADRACE_BAD_RECORD topic="),
        F.col(f"{prefix}topic"),
        F.lit(" partition="),
        F.col(f"{prefix}partition"),
        F.lit(" offset="),
        F.col(f"{prefix}offset"),
    )
    return F.concat(*(part.cast("string") for part in place), F.lit(" cause="), cause)
