"""Sends what is in the outbox: a thread for each effect, so that a receiver that is gone holds up nobody else's rows.

A row is SENDING on disk before the first byte leaves, and stays so until its outcome is on disk. So a crash leaves one row of
an effect in doubt; of a webhook that may be called twice, the few rows that were taken together.
"""

from __future__ import annotations

import fcntl
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO

from headrace.effects import outbox as outboxes
from headrace.effects.effect import Effect, Sender
from headrace.effects.outbox import Outbox
from headrace.effects.worker import Board, Say, Worker
from headrace.errors import PlanError, StateError

KEEP_DAYS = 30
"""For so long a row that was sent or dropped is kept."""

_STOP_SECONDS = 5.0
_PURGE_SECONDS = 3600.0
_PURGE_ROWS = 1000
_DAY = 86_400_000_000


class Dispatcher:
    """Sends the rows of one outbox; there is one at a time.

    `start` raises what can be known before: a secret that is missing, an outbox that another process works on. Then rows go as
    they come: at once after `poke`, else within half a second. `stop` ends it; what was not sent stays in the outbox.
    """

    def __init__(
        self,
        file: Path,
        effects: Sequence[Effect],
        *,
        say: Say = lambda text: None,
        now: Callable[[], int] = outboxes.micros,
        share: Callable[[], float] = random.random,
    ) -> None:
        names: set[str] = set()
        for effect in effects:
            if effect.name in names:
                raise PlanError(
                    f"two effects are called {effect.name!r}", where=effect.where, fix='give one of them a name: name="…"'
                )
            names.add(effect.name)
        self._file, self._effects, self._now, self._share = file, tuple(effects), now, share
        # <state>/<app>/effects.db
        self._app, self._speak = file.parent.name, say
        self._board = Board()
        self._threads: list[threading.Thread] = []
        self._running = 0
        self._outbox: Outbox | None = None
        self._lock: IO[str] | None = None

    def start(self) -> None:
        """Takes the outbox, sorts out what a crash left, and begins to send."""
        senders = [effect.sender() for effect in self._effects]
        outbox = self._outbox = Outbox(self._file)
        try:
            self._lock = _locked(self._file)
            workers = [self._worker(effect, sender, outbox) for effect, sender in zip(self._effects, senders, strict=True)]
            self._recover(outbox)
        except BaseException:
            self._release()
            raise
        self._running = len(workers) + 1
        for worker in workers:
            self._begin(f"headrace-effect-{worker.effect.name}", worker.run)
        self._begin("headrace-effects-purge", self._purge)

    def poke(self) -> None:
        """There are new rows: look now."""
        self._board.poke()

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Waits until nothing is due; what waits for another try, or for a receiver that is away, is not. False: timeout."""
        return self._board.wait_idle([effect.name for effect in self._effects], timeout)

    def check(self) -> None:
        """Raises what ended one of its threads, if something did."""
        self._board.check()

    def waiting(self) -> dict[str, int]:
        """How many rows of each effect are not sent yet."""
        return self._outbox.waiting() if self._outbox is not None else {}

    def stop(self, timeout: float = _STOP_SECONDS) -> bool:
        """Ends the threads. False if one is still sending: its row stays SENDING until it is through, or the next start."""
        self._board.stop()
        end = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def __enter__(self) -> Dispatcher:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _say(self, text: str) -> None:
        """A report that fails must not keep anything from being sent."""
        with suppress(Exception):
            self._speak(text)

    def _worker(self, effect: Effect, sender: Sender, outbox: Outbox) -> Worker:
        worker = Worker(self._app, effect, sender, outbox, self._board, self._say, self._now, self._share)
        if effect.rate is not None:
            since = self._now() - effect.rate.period
            worker.limit.remember(outbox.attempted(effect.name, since, effect.rate.count))
        return worker

    def _recover(self, outbox: Outbox) -> None:
        again = {effect.name for effect in self._effects if effect.on_doubt == "at_least_once"}
        _, unknown = outbox.recover(again, now=self._now())
        if unknown:
            self._say(
                f"{unknown} {'row was' if unknown == 1 else 'rows were'} being sent when the last run ended: UNKNOWN\n"
                f"  fix: headrace effects list {self._app} unknown; then headrace effects resolve {self._app} ID"
            )
        known = {effect.name for effect in self._effects}
        for name, count in outbox.waiting().items():
            if name not in known:
                self._say(
                    f"{count} {'row waits' if count == 1 else 'rows wait'} for the effect {name!r}, "
                    "which is not in the program\n"
                    f'  fix: name="{name}" for an effect, or give them up: '
                    f"headrace effects resolve {self._app} --all pending --effect {name} --drop"
                )

    def _purge(self) -> None:
        keyed = {effect.name for effect in self._effects if effect.id is not None}
        names = {effect.name for effect in self._effects}
        assert self._outbox is not None
        while True:
            try:
                while self._outbox.purge(keyed, names, self._now() - KEEP_DAYS * _DAY, most=_PURGE_ROWS) == _PURGE_ROWS:
                    if self._board.stopped.is_set():
                        return
            except sqlite3.Error as e:
                self._say(f"old rows could not be deleted from the outbox: {e}")
            if self._board.stopped.wait(_PURGE_SECONDS):
                return

    def _begin(self, name: str, work: Callable[[], None]) -> None:
        def run() -> None:
            try:
                work()
            except BaseException as e:
                self._board.fail(e)
                self._say(f"{name} ended: {type(e).__name__}: {e}")
            finally:
                with self._board.lock:
                    self._running -= 1
                    last = self._running == 0
                if last:
                    self._release()

        thread = threading.Thread(target=run, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _release(self) -> None:
        """With the last thread: one that is still sending keeps other dispatchers away."""
        if self._outbox is not None:
            self._outbox.close()
            self._outbox = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _locked(file: Path) -> IO[str]:
    lock = os.fdopen(os.open(file.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600), "r+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = lock.read().strip() or "unknown"
        lock.close()
        raise StateError(
            f"the effects in {file} are being sent already, by process {owner}", fix="stop that one first"
        ) from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock
