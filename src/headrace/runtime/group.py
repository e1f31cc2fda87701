"""The progress of a run as a consumer group, for Kafka's own tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.broker import groups
from headrace.broker.client import Connection
from headrace.errors import BrokerError
from headrace.plan.queries import QuerySpec
from headrace.runtime.events import BatchDone, Event
from headrace.runtime.progress import Batch
from headrace.spark.read.input import Positions


class GroupProgress:
    """Commits progress to the consumer group named after the application, so that Kafka's tools show its lag."""

    def __init__(self, connection: Connection, specs: Sequence[QuerySpec], say: Callable[[str], None]) -> None:
        self._connection = connection
        self._group = specs[0].app
        self._say = say
        self._offsets: dict[str, Positions] = {spec.name: {} for spec in specs}
        self._sources = {spec.name: [source.source for source in spec.sources] for spec in specs}
        self._committed: Positions = {}
        self._refused = False

    def __call__(self, event: Event) -> None:
        if isinstance(event, BatchDone):
            self._batch(event.batch)

    def _batch(self, batch: Batch) -> None:
        self._offsets[batch.query] = batch.offsets
        # Of several queries that read a partition the slowest counts: what is committed has been read by all of them.
        reached: Positions = {}
        for place in batch.offsets:
            readers = [name for name, sources in self._sources.items() if any(source.reads(place[0]) for source in sources)]
            by = [self._offsets[name].get(place) for name in readers]
            offsets = [offset for offset in by if offset is not None]
            if len(offsets) == len(by):
                reached[place] = min(offsets)
        changed = {place: offset for place, offset in reached.items() if self._committed.get(place) != offset}
        try:
            groups.commit(self._connection, self._group, changed)
        except BrokerError as e:
            # Only tools look at it; Spark's checkpoint is what counts.
            if not self._refused:
                self._say(f"progress is not shown in the consumer group {self._group}: {e.message}")
            self._refused = True
        else:
            self._committed.update(changed)
            self._refused = False
