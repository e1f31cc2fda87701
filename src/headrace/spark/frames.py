"""Arrow tables -> pandas, without losing anything: whole numbers and decimals stay what they are, times keep their zone."""

from __future__ import annotations

from typing import Any

import pandas
import pyarrow

_PANDAS: Any = pandas
_ARROW: Any = pyarrow


def to_pandas(table: Any) -> Any:
    """Whole numbers and booleans with nulls get the types that pandas has for that; by default they would be floats."""
    nullable = {
        _ARROW.int8(): _PANDAS.Int8Dtype(),
        _ARROW.int16(): _PANDAS.Int16Dtype(),
        _ARROW.int32(): _PANDAS.Int32Dtype(),
        _ARROW.int64(): _PANDAS.Int64Dtype(),
        _ARROW.bool_(): _PANDAS.BooleanDtype(),
    }
    columns: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        mapper = nullable.get if column.null_count else None
        columns[name] = column.to_pandas(types_mapper=mapper, maps_as_pydicts="strict", date_as_object=True)
    return _PANDAS.DataFrame(columns, columns=table.column_names)
