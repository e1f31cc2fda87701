"""Services that run beside the queries: effects are sent, sources fill topics."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal, Protocol

from headrace.effects.dispatch import Dispatcher

Role = Literal["feeds", "follows"]
"""A service that feeds the queries (a source) starts before all others; in a bounded run it catches up before the queries
start. One that follows them (effects) finishes after the queries have ended."""
_TICK = 0.2


class Service(Protocol):
    """`start` returns once it works, or raises; `check` raises if it has failed; `stop` ends it and may come at any time."""

    @property
    def role(self) -> Role: ...

    def start(self) -> None: ...

    def check(self) -> None: ...

    def drain(self, timeout: float) -> bool:
        """Waits until it has done all that is there now. False after `timeout`; the caller then asks again."""
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
    """All services of a run. Entering starts them, those that feed first; leaving stops them in reverse order."""

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
        """Waits until the services of this role have done all that is there, unless the run is stopped."""
        for service in self._services:
            while service.role == role and not self._stop.is_set() and not service.drain(_TICK):
                self.check()
