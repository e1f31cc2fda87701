"""Table: the newest row of each key, as a stream of its changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.plan import build
from headrace.plan.callsite import call_site
from headrace.plan.nodes import Node

if TYPE_CHECKING:
    from headrace.app import App


class Table:
    """What a running aggregate or a window with emit="updates" gives: a row replaces the one before it with the same key."""

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
        """Passes on the changes for which the condition holds."""
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

    def to(self, topic: str, *, name: str | None = None) -> None:
        """Writes every change to a topic, with the table's key as the record's key."""
        self._app._write(self._node, topic, name, call_site())  # pyright: ignore[reportPrivateUsage]

    def __repr__(self) -> str:
        return f"<Table of {', '.join(self.columns)} by {', '.join(self.key) or 'nothing'}>"
