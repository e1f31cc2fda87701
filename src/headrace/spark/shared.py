"""Both sides of a join that are derived from the same stream: read once, with the columns of both beside each other.

Each side has its own copy of the columns, with a prefix, and a flag that says whether the row is still in it; the verbs of a
side act on its copy. Without this Spark would read and decode the topic once for each side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.plan.nodes import (
    TIME,
    Aggregate,
    Apply,
    AsTable,
    Changes,
    Cut,
    Dedupe,
    Explode,
    Filter,
    Join,
    KeyBy,
    Lookup,
    Merge,
    Node,
    Project,
    Read,
    TableAggregate,
    TableJoin,
    TooLate,
)
from headrace.plan.rewrites.shared import steps
from headrace.spark.account import PLACE
from headrace.spark.columns import column
from headrace.spark.guard import Guard
from headrace.spark.tables import AFTER, KEY, Table, upserts

_IN, _LIVE = "_in", "_live"
_UNEXPECTED = "a side is derived row by row"


def sides(node: Lookup, base: Node, frame: DataFrame, guard: Callable[[Node], Guard]) -> tuple[DataFrame, Column, Table]:
    """A frame with the stream's columns and, beside them, the table's changes; and whether a row of it is in the stream."""
    names = frame.columns
    both = frame.select(
        *(column(name).alias(side + name) for side in ("_0", "_1") for name in names),
        *(F.lit(True).alias(side + flag) for side in ("_0", "_1") for flag in (_IN, _LIVE)),
    )
    right = _Side("_1", both, names, versioned=False)
    for step in reversed(steps(node.table, base)):
        right = right.then(step, guard(step))
    left = _Side("_0", right.as_changes(), names, versioned=False)
    for step in reversed(steps(node.stream, base)):
        left = left.then(step, guard(step))
    opened = left.opened()
    return opened, F.col("_0" + _IN), Table(opened, raw=True, versioned=right.versioned)


@dataclass(frozen=True, slots=True)
class _Side:
    prefix: str
    frame: DataFrame
    names: list[str]
    versioned: bool

    def opened(self) -> DataFrame:
        """With the side's columns under their own names too."""
        return self.frame.select("*", *(column(self.prefix + name).alias(name) for name in self.names))

    def then(self, node: Node, guard: Guard) -> _Side:
        match node:
            case Filter():
                # A row that does not match is no event; of a table it is a delete.
                flag = self.prefix + (_LIVE if node.kind == "table" else _IN)
                rows, (holds,) = guard.expressions(self.opened(), [self._inside(node.condition)], node.udfs)
                return self._with(rows.select(*self._but(flag), F.coalesce(holds, F.lit(False)).alias(flag)), self.names)
            case Project():
                names = [name for name, _ in node.items]
                rows, cells = guard.expressions(self.opened(), [self._inside(text) for _, text in node.items], node.udfs)
                items = [cell.alias(self.prefix + name) for cell, name in zip(cells, names, strict=True)]
                hidden = [name for name in self.names if name.startswith("_") and name not in names]
                gone = [self.prefix + name for name in self.names if name not in hidden]
                return self._with(rows.select(*self._but(*gone), *items), [*names, *hidden])
            case AsTable():
                table = upserts(self.opened(), node, also=self._but())
                kept = [name for name in self.names if name in (*node.columns, TIME, *PLACE)]
                return _Side(self.prefix, table.frame.drop(AFTER, *PLACE), kept, table.versioned)
            case KeyBy():
                return self
            case Read() | Explode() | Apply() | Merge() | Dedupe() | Aggregate() | TooLate() | Join() | Changes():
                raise AssertionError(_UNEXPECTED)
            case Lookup() | TableJoin() | TableAggregate() | Cut():
                raise AssertionError(_UNEXPECTED)

    def as_changes(self) -> DataFrame:
        """The columns of a table's changes; without a key where the row is not in the table."""
        row = F.struct(*(column(self.prefix + name).alias(name) for name in self.names if not name.startswith("_")))
        inside, live = F.col(self.prefix + _IN), F.col(self.prefix + _LIVE)
        others = [name for name in self.frame.columns if name != KEY and not name.startswith(self.prefix)]
        return self.frame.select(*others, F.when(inside, F.col(KEY)).alias(KEY), F.when(inside & live, row).alias(AFTER))

    def _inside(self, text: str) -> Column:
        """The expression, where the row is in the side: elsewhere it might fail."""
        return F.when(F.col(self.prefix + _IN) & F.col(self.prefix + _LIVE), F.expr(text))

    def _but(self, *gone: str) -> list[Column]:
        return [column(name) for name in self.frame.columns if name not in gone]

    def _with(self, frame: DataFrame, names: list[str]) -> _Side:
        return _Side(self.prefix, frame, names, self.versioned)
