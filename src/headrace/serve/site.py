"""What the routes of one server share: its settings, the views that it reads, and the news that they have changed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from headrace.serve.store import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where and for whom a server serves."""

    host: str = "127.0.0.1"
    port: int = 7070
    folder: Path
    """Where the views are kept, and the token."""
    token: str = field(repr=False)


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

    async def after(self, number: int, timeout: float) -> int:
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
    commits: Commits = field(default_factory=Commits)
    reader: Reader | None = None
    """None until the follower has opened the store."""
