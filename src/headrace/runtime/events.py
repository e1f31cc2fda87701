"""The events of a run, as a closed union, and their listeners.

The terminal, JSON lines and the consumer group's progress are listeners; `app.start(on_event=...)` adds the user's.
Imports no Spark.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.errors import HeadraceError, Where
    from headrace.runtime.progress import Batch, Total
    from headrace.runtime.run import Summary


@dataclass(frozen=True, slots=True)
class Started:
    """Broker and Spark are there, and the queries are about to start."""

    app: str
    queries: tuple[str, ...]
    broker: str


@dataclass(frozen=True, slots=True)
class BatchDone:
    """A query has finished a batch; `total` is the sum of its batches in this run."""

    batch: Batch
    total: Total


@dataclass(frozen=True, slots=True)
class Restarting:
    """A query failed with `cause`, and restarts after `wait` seconds."""

    query: str
    cause: HeadraceError
    wait: float
    attempt: int
    attempts: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The run has ended with an error; `where` is the user's line, if it is known."""

    app: str
    error: BaseException

    @property
    def where(self) -> Where | None:
        return getattr(self.error, "where", None)


@dataclass(frozen=True, slots=True)
class Note:
    """A message for the user."""

    text: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """The run has ended without an error."""

    app: str
    summary: Summary
    asked: bool
    """True after a signal or `stop()`; otherwise the run was bounded and has read everything."""
    unfinished: bool
    """True if the run was bounded and stopped before it had read everything."""


_here = threading.local()


def listening() -> bool:
    """Whether this thread is in a listener of any run."""
    return getattr(_here, "depth", 0) > 0


Event = Started | BatchDone | Restarting | Failed | Note | Stopped
Listener = Callable[[Event], None]


class Listeners:
    """Hands each event to all listeners, one at a time, in the thread where it happens.

    A listener that raises is reported once, in a Note, and still gets the next event.
    """

    def __init__(self, *listeners: Listener) -> None:
        self._listeners = list(listeners)
        self._broken: set[int] = set()
        self._lock = threading.RLock()
        self._inside = threading.local()

    def __call__(self, event: Event) -> None:
        with self._lock:
            outer, self._inside.now = self.inside, True
            _here.depth = getattr(_here, "depth", 0) + 1
            try:
                for listener in tuple(self._listeners):
                    self._call(listener, event)
            finally:
                self._inside.now = outer
                _here.depth -= 1

    @property
    def inside(self) -> bool:
        """Whether this thread is in a listener, where waiting for the run would never end."""
        return getattr(self._inside, "now", False)

    def say(self, text: str) -> None:
        self(Note(text))

    def first(self, listener: Listener) -> None:
        """Adds a listener that gets each event before the others."""
        with self._lock:
            self._listeners.insert(0, listener)

    def _call(self, listener: Listener, event: Event) -> None:
        try:
            listener(event)
        except Exception as e:
            if id(listener) in self._broken:
                return
            self._broken.add(id(listener))
            name = getattr(listener, "__qualname__", type(listener).__name__)
            self.say(f"the listener {name} failed at {type(event).__name__}, and the run continues: {type(e).__name__}: {e}")
