"""Signals ask a run to stop, from its first moment on; what takes long is waited for in a way that notices."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future, TimeoutError
from contextlib import contextmanager, suppress
from typing import Generic, TypeVar

T = TypeVar("T")
_TICK = 0.1
_TRIES = 20


class Interrupted(Exception):
    """The run was asked to stop before it had begun."""


class Stop(threading.Event):
    """Set once the run is to end."""

    def __init__(self) -> None:
        super().__init__()
        self._signal = signal.SIGINT

    @property
    def exit_code(self) -> int:
        """That of a process which was ended by the signal."""
        return 128 + self._signal

    @contextmanager
    def signals(self) -> Generator[None]:
        """SIGINT and SIGTERM ask for a clean stop; a second one of them is as hard as ever."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def ask(number: int, frame: object) -> None:
            self._signal = signal.Signals(number)
            self.set()
            for each, handler in before.items():
                signal.signal(each, handler)

        for number in before:
            signal.signal(number, ask)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class Task(Generic[T]):
    """A call in a thread of its own, which does not keep the process from ending."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._result: Future[T] = Future()
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result.set_result(self._call())
        except BaseException as e:
            self._result.set_exception(e)

    def wait(self, stop: threading.Event) -> T:
        while not stop.is_set():
            with suppress(TimeoutError):
                return self._result.result(_TICK)
        raise Interrupted

    def give_up(self, end: Callable[[], None]) -> None:
        """Its result is not wanted any more; `end` ends what it has begun."""
        for _ in range(_TRIES):
            end()
            self._thread.join(_TICK)
            if not self._thread.is_alive():
                return
