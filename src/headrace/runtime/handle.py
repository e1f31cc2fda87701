"""A run in the background of the program that started it. Imports no Spark."""

from __future__ import annotations

import atexit
import math
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.errors import RunError, StateError
from headrace.runtime.events import BatchDone, Event, Failed, Listeners, Stopped

if TYPE_CHECKING:
    from headrace.runtime.run import Summary

_EXIT_SECONDS = 30.0
_TICK = 0.1
_lock = threading.Lock()
_runs: dict[tuple[str, str], Run] = {}


class Run:
    """A run of an application, as `app.start()` returns it.

    Use it as a context manager to stop it at the end of a block, or call `stop()` and `wait()`. A program that ends stops its
    runs; `wait()` keeps it alive.
    """

    def __init__(self, app: str, state: str, stop: threading.Event, listeners: Listeners) -> None:
        self._app, self._place = app, (state, app)
        self._stop, self._listeners = stop, listeners
        self._latest: dict[str, BatchDone] = {}
        self._ended = threading.Event()
        self._summary: Summary | None = None
        self._failure: BaseException | None = None
        listeners.first(self._hear)

    @classmethod
    def of(
        cls,
        app: str,
        state: str,
        stop: threading.Event,
        listeners: Listeners,
        *,
        body: Callable[[], Stopped],
        close: Callable[[], None],
    ) -> Run:
        """Starts the body in a thread of its own, unless the application runs in this process already."""
        run = cls(app, state, stop, listeners)
        run._begin(body, close)
        return run

    @property
    def running(self) -> bool:
        """True until the run has ended and its state is free for the next one."""
        return not self._ended.is_set()

    @property
    def failure(self) -> BaseException | None:
        """The error that ended the run, or None."""
        return self._failure

    @property
    def progress(self) -> Mapping[str, BatchDone]:
        """By query, its latest `batch` and the `total` of all its batches; a query is missing before its first batch."""
        return dict(self._latest)

    def stop(self) -> None:
        """Asks the run to stop and returns at once. Any thread can call it, more than once. `wait()` waits."""
        self._stop.set()

    def wait(self, timeout: float | None = None) -> Summary:
        """Waits for the end, and returns what each query did or raises the error that ended the run.

        Raises TimeoutError after `timeout` seconds; the run continues.
        """
        if self._listeners.inside:
            raise RunError(
                f"wait() was called in a listener of {self._app!r}: the run can't end before the listener returns",
                fix="call stop() in a listener, and wait() in the program",
            )
        if not self._over(timeout):
            raise TimeoutError(f"the application {self._app!r} is still running after {timeout:g} seconds")
        if self._failure is not None:
            raise self._failure
        assert self._summary is not None
        return self._summary

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.stop()
        if self._listeners.inside:
            return
        self._over(None)
        if kind is None:
            self.wait()

    def __repr__(self) -> str:
        return f"<Run of {self._app}: {'running' if self.running else 'failed' if self._failure else 'stopped'}>"

    def _over(self, timeout: float | None) -> bool:
        """Waits for the end, in short pieces: a signal that another thread takes does not wake this one to handle it."""
        end = math.inf if timeout is None else time.monotonic() + timeout
        while not self._ended.wait(max(min(_TICK, end - time.monotonic()), 0)):
            if time.monotonic() >= end:
                return False
        return True

    def _begin(self, body: Callable[[], Stopped], close: Callable[[], None]) -> None:
        with _lock:
            if self._place in _runs:
                raise StateError(
                    f"the application {self._app!r} is running already, in this process",
                    fix="stop() and wait() for that run first, or give this one another name",
                )
            _runs[self._place] = self
        # Registered again, so that it runs before what others have registered since.
        atexit.unregister(_end)
        atexit.register(_end)
        threading.Thread(target=self._go, args=(body, close), name=f"headrace-{self._app}", daemon=True).start()

    def _go(self, body: Callable[[], Stopped], close: Callable[[], None]) -> None:
        try:
            try:
                last = body()
                self._summary = last.summary
            except BaseException as e:
                self._failure = e
                last = Failed(self._app, e)
            self._listeners(last)
            close()
        finally:
            with _lock:
                _runs.pop(self._place)
            self._ended.set()

    def _hear(self, event: Event) -> None:
        if isinstance(event, BatchDone):
            self._latest[event.batch.query] = event


def _end() -> None:
    """The program ends, and its runs are stopped as by a signal."""
    runs = list(_runs.values())
    for run in runs:
        run.stop()
    for run in runs:
        with suppress(Exception):
            run.wait(_EXIT_SECONDS)
