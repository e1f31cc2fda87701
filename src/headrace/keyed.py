"""KeyedStream: a stream whose events belong to a key. WindowedStream: the same, cut into windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.plan import build, habits, spelling
from headrace.plan.callsite import call_site
from headrace.stream import Stream

if TYPE_CHECKING:
    from headrace.app import App
    from headrace.table import Table


class KeyedStream(Stream):
    """A stream with a key: aggregates and windows are per key, and the key is the key of what it writes."""

    def __repr__(self) -> str:
        return f"<KeyedStream of {', '.join(self.columns)} by {', '.join(self.key)}>"


@spelling.facade("a windowed stream", habits.WINDOWED)
class WindowedStream:
    """The result of `stream.window(...)`: call `agg` or `count` on it."""

    def __init__(self, app: App, over: build.Windowed) -> None:
        self._app = app
        self._over = over

    def agg(self, **aggregates: str) -> Table | Stream:
        """One row for each key and window: the key, `window_start`, `window_end`, the aggregates, and `final`.

        With emit="updates" or "all" a table (each row replaces the one before); with emit="final" or hr.every(...) a stream
        (a row is what was known then).
        """
        from headrace.table import Table

        node = build.aggregate(self._over, aggregates, call_site())
        if node.kind == "table":
            return Table(self._app, node)
        return KeyedStream(self._app, node)

    @property
    def late(self) -> Stream:
        """With late="divert": the events that came too late, with the window they missed and `late_by`, in seconds.

        An event that missed several windows comes once for each.
        """
        return Stream(self._app, build.too_late(self._over, call_site()))

    def count(self) -> Table | Stream:
        """How many events, as the column `count`."""
        return self.agg(count="count(*)")
