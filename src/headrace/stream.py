"""Stream: a sequence of events. Every verb returns a new stream; nothing runs until the app does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from headrace.errors import PlanError
from headrace.plan import build, habits, joins, spelling, tables
from headrace.plan.callsite import call_site
from headrace.plan.durations import Duration
from headrace.plan.format import Format
from headrace.plan.joins import On
from headrace.plan.nodes import AsOf, Delivery, How, Node
from headrace.plan.sink import Sink
from headrace.plan.windows import Emit, Every, FinalWindow, Late, UpdatingWindow, Window

if TYPE_CHECKING:
    from headrace.app import App
    from headrace.table import Table
    from headrace.windowed import WindowedStream


@spelling.facade("a stream", habits.STREAM)
class Stream:
    """A stream of events with named columns. Expressions are Spark SQL text; `_time` is the event's time."""

    def __init__(self, app: App, node: Node) -> None:
        self._app = app
        self._node = node

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._node.columns

    @property
    def key(self) -> tuple[str, ...]:
        """The key's columns; empty when there is none."""
        return self._node.key

    def where(self, condition: str) -> Stream:
        """Keeps the events for which the condition holds: `where("price > 10")`."""
        return self._next(build.filter(self._node, condition, call_site()))

    def select(self, *columns: str, **named: str) -> Stream:
        """Keeps exactly these columns: `select("symbol", "price * qty as value", day="date(at)")`."""
        return self._next(build.select(self._node, columns, named, call_site()))

    def with_columns(self, **named: str) -> Stream:
        """Adds columns, or replaces those of the same name: `with_columns(value="price * qty")`."""
        return self._next(build.with_columns(self._node, named, call_site()))

    def drop(self, *columns: str) -> Stream:
        """Drops these columns."""
        return self._next(build.drop(self._node, columns, call_site()))

    def explode(self, expression: str, *, name: str) -> Stream:
        """One event for each element of an array: `explode("split(text, ' ')", name="word")`."""
        return self._next(build.explode(self._node, expression, name, call_site()))

    def apply(self, function: Callable[[Any], Any], *, columns: tuple[str, ...] | list[str] | None = None) -> Stream:
        """Applies a function of Spark DataFrames; list the columns if it changes them. It must keep `_time`."""
        return self._next(build.apply(self._node, function, columns, call_site()))

    def merge(self, *others: Stream) -> Stream:
        """All events of these streams, which have the same columns."""
        site = call_site()
        if any(not isinstance(other, Stream) or other._app is not self._app for other in others):  # pyright: ignore
            raise PlanError(
                "merge() takes streams of the same app",
                where=site.where,
                fix="read all of them from one app; a table is a stream after changes()",
            )
        return self._next(build.merge((self._node, *(other._node for other in others)), site))

    def join(
        self,
        other: Stream | Table,
        *,
        on: On,
        how: How = "inner",
        within: Duration | None = None,
        as_of: AsOf | None = None,
        history: Duration | None = None,
        with_version: bool = False,
    ) -> Stream:
        """With a stream: pairs of events that are equal in the columns `on` and whose times are at most `within` apart.
        With how="left", "right" or "full" an event without a partner is emitted too, once, when none can arrive any more.

        With a table: each event with the row of its key. `on` is the table's key, or a dict {the stream's column: the table's}.
        The row is as of the event's arrival or, with as_of="event_time", as of the event's time; then its versions are kept for
        `history`, 1 hour by default. With how="left" an event without a row is emitted too; `with_version` adds the row's
        version.
        """
        from headrace.table import Table

        site = call_site()
        if isinstance(other, Table) and other._app is self._app:  # pyright: ignore[reportPrivateUsage]
            if within is not None:
                raise PlanError("within= is for a join of two streams", where=site.where, fix="leave it out")
            table = other._node  # pyright: ignore[reportPrivateUsage]
            return self._next(
                joins.lookup(self._node, table, on, how, site, as_of=as_of, history=history, with_version=with_version)
            )
        if not isinstance(other, Stream) or other._app is not self._app:
            raise PlanError("join() takes a stream or a table of the same app", where=site.where, fix="read both from one app")
        joins.no_table_options(site, as_of=as_of, history=history, with_version=with_version or None)
        return self._next(joins.streams(self._node, other._node, on, within, how, site))

    def as_table(self, *, key: str | Sequence[str] | None = None, version: str | None = None) -> Table:
        """The newest event of each key, by its time or by the column `version`; without `key`, by the stream's key."""
        from headrace.table import Table

        return Table(self._app, tables.as_table(self._node, key, version, call_site()))

    def split(self, *conditions: str) -> tuple[Stream, ...]:
        """One stream per condition and one for the rest; an event goes to the first that holds for it."""
        return tuple(self._next(node) for node in build.split(self._node, conditions, call_site()))

    def dedupe(self, *columns: str, within: Duration | None = None) -> Stream:
        """Keeps the first of the events that are equal in these columns; `within` bounds how long they are remembered."""
        return self._next(build.dedupe(self._node, columns, within, call_site()))

    def key_by(self, *columns: str, **named: str) -> Stream:
        """Keys the stream by these columns, or by named expressions: `key_by("symbol", day="date(at)")`.

        Aggregates and windows are then computed per key, and `to` writes it as the record's key.
        """
        return self._next(build.key_by(self._node, columns, named, call_site()))

    @overload
    def window(
        self,
        window: Window,
        *,
        emit: Literal["updates", "all"],
        late: Late = "drop",
        close_after: Duration | None = None,
    ) -> WindowedStream[Table]: ...

    @overload
    def window(
        self,
        window: Window,
        *,
        emit: Literal["final"] | Every,
        late: Late = "drop",
        close_after: Duration | None = None,
    ) -> WindowedStream[Stream]: ...

    @overload
    def window(
        self, window: UpdatingWindow, *, emit: None = None, late: Late = "drop", close_after: Duration | None = None
    ) -> WindowedStream[Table]: ...

    @overload
    def window(
        self, window: FinalWindow, *, emit: None = None, late: Late = "drop", close_after: Duration | None = None
    ) -> WindowedStream[Stream]: ...

    @overload
    def window(
        self, window: Window, *, emit: Emit | None = None, late: Late = "drop", close_after: Duration | None = None
    ) -> WindowedStream[Table | Stream]: ...

    def window(
        self, window: Window, *, emit: Emit | None = None, late: Late = "drop", close_after: Duration | None = None
    ) -> WindowedStream[Any]:
        """Windows over the stream, or over each key of a keyed one; then `agg` or `count`.

        `emit` says when results are emitted: "updates" (whenever one changes), "final" (once, when no event can arrive any
        more), "all" (both), or hr.every("1 minute"). `late` says what happens to an event whose window is final: "drop" drops
        and counts it, "divert" emits it in `windowed.late`, "fail" stops the run. `close_after` closes these windows after
        that long without records; the default is the stream's.
        """
        from headrace.windowed import WindowedStream

        return WindowedStream(self._app, build.windowed(self._node, window, emit, late, close_after, call_site()))

    def agg(self, **aggregates: str) -> Table:
        """Running aggregates, without a window: `agg(total="sum(price)", n="count(*)")`."""
        from headrace.table import Table

        return Table(self._app, build.aggregate(self._node, aggregates, call_site()))

    def count(self) -> Table:
        """The running count, as the column `count`."""
        return self.agg(count="count(*)")

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
        """Writes to a topic, or to one of `hr.sinks`, exactly once.

        `name` names the query and its state; the default is the name of the topic or sink. With delivery="at_least_once" a
        topic may get rows twice after a crash, but readers need not wait for transactions. `format` is the format of the
        topic's records, and `key_format` that of their keys: one of `hr.formats` or its name. The defaults are "json" and
        "text". `headers` adds headers to the topic's records: names and expressions of text or bytes; a null adds none.
        """
        self._app._write(self._node, to, name, delivery, format, key_format, headers, call_site())  # pyright: ignore[reportPrivateUsage]

    def preview(self, *, records: int = 1000, broker: str | None = None) -> Any:
        """Computes this stream from the newest `records` of each source, and returns its rows as a pandas DataFrame.

        Nothing is written and no state is left; the application may run meanwhile. Open windows are closed.
        """
        return self._app._preview(self._node, records, broker, call_site())  # pyright: ignore[reportPrivateUsage]

    def _next(self, node: Node) -> Stream:
        return Stream(self._app, node)

    def __repr__(self) -> str:
        by = f" by {', '.join(self.key)}" if self.key else ""
        return f"<Stream of {', '.join(self.columns)}{by}>"
