"""Rows in a table of a SQLite file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import PlanError, Where
from headrace.plan import spelling
from headrace.plan.callsite import call_site
from headrace.plan.nodes import Node
from headrace.plan.sink import Destination, Output, Sink
from headrace.sinks.tables import Mode, checked_mode, mode_of, reset_table, table_name


@dataclass(frozen=True, kw_only=True)
class Sqlite(Sink):
    """See `sqlite`."""

    path: str
    table: str
    mode: Mode | None
    create: bool

    @property
    def label(self) -> str:
        return f"sqlite.{self.table}"

    @property
    def written_by(self) -> Destination:
        options = {"file": self.path, "table": self.table, "create": self.create}
        return Destination("sqlite.SqliteDestination", options)

    def reset(self, output: Output, node: Node) -> str:
        return reset_table(self.table, self.label, output, keyed=bool(self.key(node, node.where)))

    def check(self, node: Node, where: Where) -> None:
        self.key(node, where)

    def key(self, node: Node, where: Where) -> tuple[str, ...]:
        """The key by which rows are replaced; none if they are added."""
        return node.key if mode_of(self.mode, node, self.label, where) == "upsert" else ()


@spelling.arguments
def sqlite(path: str | os.PathLike[str], *, table: str, mode: Mode | None = None, create: bool = True) -> Sqlite:
    """Writes rows to a table in a SQLite file on the driver's machine, exactly once: `sqlite("market.db", table="trades")`.

    As with `postgres`, events of a stream are appended and rows of a table replace those with the same key. A missing file
    is created; so is a missing table, unless `create` is False.
    """
    where = call_site().where
    try:
        file = str(Path(path).expanduser().absolute())
    except TypeError:
        raise PlanError(f"{path!r} is not a path", where=where, fix='write sqlite("market.db", table=…)') from None
    name = table_name(table, where)
    if "." in name:
        raise PlanError(f"{name!r} is not a valid SQLite table name", where=where, fix="leave the schema out")
    return Sqlite(path=file, table=name, mode=checked_mode(mode, where), create=create)
