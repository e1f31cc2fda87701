"""Whether a Python function returned what it is declared to return; the row on which it did not is then known."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type  # pyright: ignore[reportUnknownVariableType]
from pyspark.sql.types import (
    ArrayType,
    AtomicType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

_BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_EXACT: dict[type[DataType], type] = {
    DoubleType: float,
    FloatType: float,
    BooleanType: bool,
    StringType: str,
    BinaryType: bytes,
}
_ARROW: Any = pa
_REFUSED: tuple[type[Exception], ...] = (_ARROW.ArrowException, TypeError, ValueError, OverflowError)
_LIKE: dict[type[DataType], tuple[type, ...]] = {
    ArrayType: (list, tuple),
    MapType: (dict,),
    StructType: (dict, tuple),
    DecimalType: (Decimal, int),
    TimestampType: (datetime,),
    TimestampNTZType: (datetime,),
    DateType: (date,),
}
"""Of what is left to Spark, what it looks like at first sight."""


class Fit:
    """A function's name and the type that it is declared to return."""

    def __init__(self, name: str, returns: DataType) -> None:
        self.name, self.returns = name, returns
        kind = type(returns)
        self._bits = _BITS.get(kind)
        self._exact = int if self._bits else _EXACT.get(kind)
        self._like = _LIKE.get(kind)
        self.arrow: Any = to_arrow_type(returns) if isinstance(returns, AtomicType) and self._exact is not None else None
        """None for types that are left to Spark."""

    def __call__(self, value: Any) -> Any:
        """The value, as one of the declared type; TypeError if it is none."""
        if value is None or (self._bits is not None and value != value):
            return None
        if type(value) is self._exact and self._plain(value):
            return value
        if self._like is not None and not isinstance(value, self._like) and not hasattr(value, "tolist"):
            raise self._wrong(value)
        if self.arrow is None:
            return value
        try:
            return _ARROW.array([value]).cast(self.arrow)[0].as_py()
        except _REFUSED:
            raise self._wrong(value) from None

    def check(self, values: Any) -> Any:
        """Many at once, a series or an array; whatever is raised, one of them is not of the type."""
        if self.arrow is None or not hasattr(values, "__len__"):
            return values
        if isinstance(values, _ARROW.Array):
            return values.cast(self.arrow)
        if str(getattr(values, "dtype", "")) != str(self.arrow):
            _ARROW.Array.from_pandas(values, self.arrow)
        return values

    def long_enough(self, values: Any, rows: int) -> Any:
        """A function of batches that returns fewer or more values is wrong for all rows."""
        if not hasattr(values, "__len__") or len(values) != rows:
            got = f"{len(values)} values" if hasattr(values, "__len__") else type(values).__name__
            raise ValueError(f"{self.name}() returned {got} for {rows} rows: a value for each row is expected")
        return values

    def _plain(self, value: Any) -> bool:
        if self._bits is not None:
            return -(1 << (self._bits - 1)) <= value < 1 << (self._bits - 1)
        return self._exact is not str or value.isascii()

    def _wrong(self, value: Any) -> TypeError:
        shown = repr(value)
        shown = shown if len(shown) <= 100 else shown[:100] + "…"
        got = f"{self.name}() returned {shown}, of type {type(value).__name__}"
        return TypeError(f"{got}; it is declared to return {self.returns.simpleString()}")
