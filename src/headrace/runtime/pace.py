"""Time that goes on without events: which source holds a query's watermark back, and when that has lasted long enough."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from headrace.plan import traits
from headrace.plan.nodes import Read
from headrace.plan.queries import QuerySpec
from headrace.runtime.progress import Batch

_MILLI = 1000


class Pace:
    """What is known of the times of a query's sources. All times are in microseconds; `now` is that of any clock."""

    def __init__(self, spec: QuerySpec, now: int) -> None:
        self._sources = [source for source in spec.sources if source.lateness is not None]
        self._names = {source: spec.label(source) for source in self._sources}
        self._close_after = spec.close_after
        self._reach = traits.reach(spec.node)
        self.newest: dict[str, int] = {}
        """The latest event times of the sources."""
        self._heard = dict.fromkeys(self._names.values(), now)
        self._closed = False

    @property
    def open(self) -> bool:
        """Whether silence has yet to close something, so that rows may still come out of the query without an event."""
        return self._close_after is not None and bool(self.newest) and not self._closed

    def wait(self, now: int, topics: Collection[str] | None = None) -> None:
        """Nobody is quiet: something is being read, or it is not known yet whether there is something to read.

        With `topics`, only these are not: a query of the same application writes them and is still open.
        """
        for source, name in self._names.items():
            if topics is None or any(map(source.source.reads, topics)):
                self._heard[name] = now

    def note(self, batch: Batch, now: int) -> None:
        self._closed = self._closed and not batch.newest
        for name, time in batch.newest.items():
            self.newest[name] = max(self.newest.get(name, 0), time)
            self._heard[name] = now

    def slowest(self) -> str | None:
        """The source that holds the watermark back, of several."""
        if len(self._sources) < 2:
            return None
        return self._names[min(self._sources, key=lambda source: self._watermark(source) or 0)]

    def pulses(self, now: int, watermark: int | None = None, pulsed: bool = False) -> dict[Read, int]:
        """How far time has come where nobody said so.

        The `watermark` is the query's, for sources not heard of in this run; `pulsed` says that it came of an earlier
        pulse, so that all is closed already: another one would close what is yet to come.
        """
        if watermark is not None and not pulsed:
            for source in self._sources:
                # The watermark is that of the newest event, less a fraction of a millisecond.
                self.newest.setdefault(self._names[source], watermark + (source.lateness or 0) + _MILLI - 1)
        quiet = {source: now - self._heard[self._names[source]] for source in self._sources}
        if self._close_after is not None and self.newest and all(each >= self._close_after for each in quiet.values()):
            self._closed = True
            end = max(self.newest.values()) + self._reach
            return {source: end + (source.lateness or 0) for source in self._sources}
        found: dict[Read, int] = {}
        idle = [source for source in self._sources if source.idle_after is not None and quiet[source] >= source.idle_after]
        others = [mark for source in self._sources if source not in idle and (mark := self._watermark(source)) is not None]
        for source in idle:
            if others and min(others) > (self._watermark(source) or 0):
                found[source] = min(others) + (source.lateness or 0)
        return found

    def _watermark(self, source: Read) -> int | None:
        newest = self.newest.get(self._names[source])
        return None if newest is None else newest - (source.lateness or 0)


def still_open(paces: Iterable[tuple[QuerySpec, Pace]]) -> set[str]:
    """The topics to which queries may still write without an event. They are not quiet."""
    return {topic for spec, pace in paces if pace.open for topic in spec.all_topics}
