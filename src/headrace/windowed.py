"""WindowedStream: a stream with windows; its aggregates are still to come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, cast

from headrace.plan import build, habits, spelling
from headrace.plan.callsite import call_site
from headrace.stream import Stream

if TYPE_CHECKING:
    from headrace.app import App
    from headrace.table import Table

Result = TypeVar("Result", bound="Table | Stream", covariant=True)


@spelling.facade("a windowed stream", habits.WINDOWED)
class WindowedStream(Generic[Result]):
    """The result of `stream.window(...)`: call `agg` or `count` on it."""

    def __init__(self, app: App, over: build.Windowed) -> None:
        self._app = app
        self._over = over

    def agg(self, **aggregates: str) -> Result:
        """One row for each key and window: the key, `window_start`, `window_end`, the aggregates, and `final`.

        With emit="updates" or "all" it is a table, in which each row replaces the one before; with emit="final" or
        hr.every(...) it is a stream, in which each row is the result as of that time.
        """
        from headrace.table import Table

        node = build.aggregate(self._over, aggregates, call_site())
        return cast("Result", (Table if node.kind == "table" else Stream)(self._app, node))

    @property
    def late(self) -> Stream:
        """With late="divert": the events that came too late, with the window they missed and `late_by`, in seconds.

        An event that missed several windows is emitted once for each.
        """
        return Stream(self._app, build.too_late(self._over, call_site()))

    def count(self) -> Result:
        """How many events, as the column `count`."""
        return self.agg(count="count(*)")
