"""Table: rows that change, each identified by its key. KeyedTable: the same rows, in groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.errors import PlanError
from headrace.plan import build, habits, joins, spelling, tables
from headrace.plan.callsite import call_site
from headrace.plan.format import Format
from headrace.plan.joins import On
from headrace.plan.nodes import Delivery, How, Node
from headrace.plan.sink import Sink

if TYPE_CHECKING:
    from headrace.app import App
    from headrace.stream import Stream


@spelling.facade("a table", habits.TABLE)
class Table:
    """The newest row of each key: a topic read as a table, the newest events of a stream, a running aggregate, a join.

    Every verb returns a table derived from this one: its rows change when these do.
    """

    def __init__(self, app: App, node: Node) -> None:
        self._app = app
        self._node = node

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._node.columns

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return self._node.key

    def where(self, condition: str) -> Table:
        """The rows for which the condition holds; one that stops matching is deleted downstream."""
        return Table(self._app, build.filter(self._node, condition, call_site()))

    def select(self, *columns: str, **named: str) -> Table:
        """Exactly these columns; the key's must be among them."""
        return Table(self._app, build.select(self._node, columns, named, call_site()))

    def with_columns(self, **named: str) -> Table:
        """Adds columns, or replaces those of the same name."""
        return Table(self._app, build.with_columns(self._node, named, call_site()))

    def drop(self, *columns: str) -> Table:
        """Without these columns, none of which may be of the key."""
        return Table(self._app, build.drop(self._node, columns, call_site()))

    def join(self, other: Table, *, on: On, how: How = "inner") -> Table:
        """The rows of both that are equal in the columns `on`, a name or {mine: the other's}; kept up to date.

        With how="left", rows of this table without a partner are included, with how="full" those of either. The result's key
        is the common key if both are joined on their keys, this table's if the other is joined on its key, else both keys.
        """
        site = call_site()
        if not isinstance(other, Table) or other._app is not self._app:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise PlanError(
                "a table is joined with a table of the same app",
                where=site.where,
                fix="write stream.join(table, …), or make the stream a table with as_table()",
            )
        return Table(self._app, joins.of_tables(self._node, other._node, on, how, site))

    def key_by(self, *columns: str, **named: str) -> KeyedTable:
        """Groups of rows that are equal in these columns or named expressions; then `agg` or `count`."""
        site = call_site()
        if not columns and not named:
            raise PlanError("key_by() needs a column", where=site.where, fix='write key_by("symbol")')
        return KeyedTable(self._app, self._node, columns, named)

    def agg(self, **aggregates: str) -> Table:
        """Aggregates over all rows: one row, updated with every change."""
        return Table(self._app, tables.aggregate(self._node, (), {}, aggregates, call_site()))

    def count(self) -> Table:
        """How many rows there are, as the column `count`."""
        return self.agg(count="count(*)")

    def changes(self) -> Stream:
        """A stream of the changes: the key's columns, `op` ("insert", "update", "delete"), the rows `before` and `after`."""
        from headrace.stream import Stream

        return Stream(self._app, tables.changes(self._node, call_site()))

    def to(
        self,
        to: str | Sink,
        *,
        name: str | None = None,
        delivery: Delivery = "exactly_once",
        format: str | Format | None = None,
        key_format: str | Format | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Writes every change to a topic, with the table's key as the record's key; a deleted row has no value.

        In one of `hr.sinks`, a row replaces the earlier row of its key. The options are those of `Stream.to`.
        """
        self._app._write(self._node, to, name, delivery, format, key_format, headers, call_site())  # pyright: ignore[reportPrivateUsage]

    def preview(self, *, records: int = 1000, broker: str | None = None) -> Any:
        """Computes this table from the newest `records` of each source, and returns its rows as a pandas DataFrame.

        Nothing is written and no state is left; the application may run meanwhile. Open windows are closed.
        """
        return self._app._preview(self._node, records, broker, call_site())  # pyright: ignore[reportPrivateUsage]

    def __repr__(self) -> str:
        return f"<Table of {', '.join(self.columns)} by {', '.join(self.key) or 'nothing'}>"


@spelling.facade("a grouped table", habits.GROUPED)
class KeyedTable:
    """The result of `table.key_by(...)`: call `agg` or `count` on it."""

    def __init__(self, app: App, node: Node, columns: tuple[str, ...], named: Mapping[str, str]) -> None:
        self._app = app
        self._node = node
        self._columns = columns
        self._named = named

    def agg(self, **aggregates: str) -> Table:
        """One row for each group: its key, and the aggregates over the rows now in it."""
        return Table(self._app, tables.aggregate(self._node, self._columns, self._named, aggregates, call_site()))

    def count(self) -> Table:
        """How many rows each group has, as the column `count`."""
        return self.agg(count="count(*)")
