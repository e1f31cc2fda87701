"""Topics that are deleted and created again while a run lasts: the same name, other records.

The kernel compares ids before it writes a batch (kernel: TopicIds). This looks once a second besides, because a query without
new records, or in real-time mode, would not notice for long.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from headrace.errors import BrokerError, StateError
from headrace.plan.queries import QuerySpec
from headrace.runtime.checkpoints import state

_EVERY = 1.0


def written(spec: QuerySpec) -> set[str]:
    return {spec.marks, *spec.all_topics}


def of(spec: QuerySpec, topic: str) -> bool:
    """Whether it is one of the topics of a query that must stay the ones they are."""
    return topic in written(spec) or spec.reads(topic)


class Watch:
    """Asks the broker in a thread of its own: a broker that does not answer must not hold up who looks after the queries."""

    def __init__(self, now: Callable[[], Mapping[str, str]], specs: Sequence[QuerySpec], ids: Mapping[str, str]) -> None:
        """`now` asks for the ids as they are, `ids` are those of the checkpoints."""
        self._now, self._specs, self._ids = now, specs, ids
        self._found: StateError | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def check(self) -> None:
        """Raises what was found so far."""
        if self._found is not None:
            raise self._found

    def look(self) -> None:
        """Asks, and raises what it finds."""
        now = self._now()
        for topic, id in self._ids.items():
            # One that is just gone is for the clients to report: the next look may find it again, with another id.
            if now.get(topic, id) != id:
                raise state.recreated(next(spec for spec in self._specs if of(spec, topic)), topic)

    def _run(self) -> None:
        while not self._stop.wait(_EVERY):
            try:
                self.look()
            except StateError as e:
                self._found = e
                return
            except BrokerError:
                continue
