"""Columns by name, whatever is in the name."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def column(name: str) -> Column:
    return F.col(path(name))


def path(*names: str) -> str:
    """The name as Spark reads it: dots, spaces and backticks in it are part of the name; several are a way into structs."""
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)
