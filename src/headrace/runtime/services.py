"""What runs beside the queries: effects that are sent, sources that fill topics."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal, Protocol

from headrace.effects.dispatch import Dispatcher

Role = Literal["feeds", "follows"]
"""A service that feeds the queries (a source) starts before all others, and a bounded run waits until it has caught up before
the queries start. One that follows them (effects) is waited for after they have ended."""
_TICK = 0.2


class Service(Protocol):
    """`start` returns once it works, or raises; `check` raises if it can't go on; `stop` ends it and may come at any time."""

    @property
    def role(self) -> Role: ...

    def start(self) -> None: ...

    def check(self) -> None: ...

    def drain(self, timeout: float) -> bool:
        """Waits until it has done all that is there now. False if that took longer; it is asked again."""
        ...

    def stop(self) -> object: ...


@dataclass(frozen=True, slots=True)
class Effects:
    """Sends what the queries put into the outbox."""

    dispatcher: Dispatcher
    role: Role = "follows"

    def start(self) -> None:
        self.dispatcher.start()

    def check(self) -> None:
        self.dispatcher.check()

    def drain(self, timeout: float) -> bool:
        return self.dispatcher.wait_idle(timeout)

    def stop(self) -> None:
        self.dispatcher.stop()


class Services:
    """All services of a run: started as it is entered, those that feed first, and stopped in the opposite order."""

    def __init__(self, services: Sequence[Service], stop: threading.Event) -> None:
        self._services = sorted(services, key=lambda service: service.role != "feeds")
        self._stop = stop
        self._started = ExitStack()

    def __enter__(self) -> Services:
        try:
            for service in self._services:
                service.start()
                self._started.callback(service.stop)
        except BaseException:
            self._started.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._started.close()

    def check(self) -> None:
        for service in self._services:
            service.check()

    def drain(self, role: Role) -> None:
        """Waits until those have done all that is there, unless the run is stopped."""
        for service in self._services:
            while service.role == role and not self._stop.is_set() and not service.drain(_TICK):
                self.check()
