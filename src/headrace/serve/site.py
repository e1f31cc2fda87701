"""What the routes of one server share: its settings, the views that it reads, and the news that they have changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headrace.broker.client import Connection
from headrace.serve.store import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where and for whom a server serves."""

    host: str = "127.0.0.1"
    port: int = 7070
    folder: Path
    """Where the views are kept, and the token."""
    tokens: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """By token, its role: "read", "operate", or one that views are limited to."""
    origins: tuple[str, ...] = ()
    """The origins whose pages may call the server (CORS)."""
    certificate: Path | None = None
    private_key: Path | None = None
    slow: str = "disconnect"
    """What happens to a follower that does not keep up, unless it chooses itself: "disconnect" or "conflate"."""
    query_seconds: float = 10.0
    query_rows: int = 100_000
    query_memory: str = "512MB"
    body_bytes: int = 1 << 20
    state: Path | None = None
    """The applications' state folder, if it is on this machine: there are the outboxes."""


class Commits:
    """Tells coroutines that the follower has committed. `number` counts up; nothing else is promised of it."""

    def __init__(self) -> None:
        self.number = 0
        self.lag: dict[str, int] = {}
        """By view, how many records of its topic are not in it yet."""
        self.failure: str | None = None
        """Why the follower does not follow, if it doesn't."""
        self._waiting: set[asyncio.Future[None]] = set()

    def happened(self) -> None:
        """Called in the server's event loop."""
        self.number += 1
        waiting, self._waiting = self._waiting, set()
        for each in waiting:
            if not each.done():
                each.set_result(None)

    async def after(self, number: int, timeout: float | None = None) -> int:
        """Waits until there is a commit after that number, or until `timeout` seconds are over; the number now."""
        if self.number == number:
            future = asyncio.get_running_loop().create_future()
            self._waiting.add(future)
            try:
                async with asyncio.timeout(timeout):
                    await future
            except TimeoutError:
                pass
            finally:
                self._waiting.discard(future)
        return self.number


@dataclass(slots=True)
class Site:
    settings: Settings
    reader: Reader
    connection: Connection | None = None
    """To the broker, for what operators do; None if there is none (tests of lookups)."""
    commits: Commits = field(default_factory=Commits)
