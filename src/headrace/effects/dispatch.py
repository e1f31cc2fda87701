"""Sends what is in the outbox: a thread for each effect, so that a receiver that is gone holds up nobody else's rows.

A row is SENDING on disk before the first byte leaves, and stays so until its outcome is on disk. So a crash leaves one row of
an effect in doubt; of a webhook that may be called twice, the few rows that were taken together. What comes of an attempt:

    Sent       SENT
    Refused    FAILED
    Later      another try, with growing pauses; FAILED after `retries`
    Away       the effect pauses, the row stays the first; this does not count as a try
    Doubt      at_most_once: UNKNOWN. at_least_once: another try; UNKNOWN after `retries`
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
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO

from headrace.effects import outbox as outboxes
from headrace.effects.effect import Away, Doubt, Effect, Item, Later, Outcome, Refused, Sender, Sent
from headrace.effects.outbox import Outbox, Settled, State
from headrace.effects.rate import Limit
from headrace.errors import HeadraceError, PlanError, StateError
from headrace.secrets import redacted

KEEP_DAYS = 30
"""For so long a row that was sent or dropped is kept."""

_POLL = 0.5
_STOP_SECONDS = 5.0
_PURGE_SECONDS = 3600.0
_PURGE_ROWS = 1000
_DAY = 86_400_000_000
_TOGETHER_SECONDS = 0.25
_IDLE_SECONDS = 5.0
_FIRST_PAUSE = 1_000_000
_LONGEST_PAUSE = 3600 * 1_000_000
_LONGEST_OUTAGE = 60 * 1_000_000
_TELL_SECONDS = 60.0
_CAUSE = 1000

Say = Callable[[str], None]


def pause(attempt: int, longest: int, share: float) -> int:
    """How long to wait after so many attempts, in microseconds: twice as long each time, less a random part."""
    return round(min(longest, _FIRST_PAUSE << min(attempt - 1, 40)) * (0.5 + share / 2))


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
        self._board = _Board()
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
        """What can't be told must not keep anything from being sent."""
        with suppress(Exception):
            self._speak(text)

    def _worker(self, effect: Effect, sender: Sender, outbox: Outbox) -> _Worker:
        worker = _Worker(self._app, effect, sender, outbox, self._board, self._say, self._now, self._share)
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
                    f"{count} {'row waits' if count == 1 else 'rows wait'} for the effect {name!r}, which the program lacks\n"
                    f'  fix: name="{name}" for an effect; or headrace effects resolve {self._app} --all pending --effect {name} --drop'
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
                self._say(f"old rows of the outbox could not be deleted: {e}")
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


class _Board:
    """How the threads tell each other: there is something new, nothing is due, it is over."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self._work = threading.Condition(self.lock)
        self._idle = threading.Condition(self.lock)
        self._idle_at: dict[str, int] = {}
        self._error: BaseException | None = None
        self.pokes = 0

    def poke(self) -> int:
        with self.lock:
            self.pokes += 1
            self._work.notify_all()
            return self.pokes

    def wait_idle(self, names: Sequence[str], timeout: float | None) -> bool:
        asked = self.poke()

        def over() -> bool:
            idle = all(self._idle_at.get(name, -1) >= asked for name in names)
            return idle or self.stopped.is_set() or self._error is not None

        with self.lock:
            done = self._idle.wait_for(over, timeout)
            if self._error is not None:
                raise HeadraceError(f"effects are not sent any more: {self._error}", fix="start it again") from self._error
            return done

    def rest(self, name: str, seen: int, idle: bool, seconds: float) -> None:
        """Until a poke that came after `seen`, or the time is over. Idle: nothing was due then."""
        with self.lock:
            if idle:
                self._idle_at[name] = seen
                self._idle.notify_all()
            if self.pokes == seen and not self.stopped.is_set():
                self._work.wait(seconds)

    def stop(self) -> None:
        with self.lock:
            self.stopped.set()
            self._work.notify_all()
            self._idle.notify_all()

    def fail(self, error: BaseException) -> None:
        with self.lock:
            self._error = error
            self._idle.notify_all()


@dataclass(slots=True)
class _Worker:
    """The thread of one effect."""

    app: str
    effect: Effect
    sender: Sender
    outbox: Outbox
    board: _Board
    say: Say
    now: Callable[[], int]
    share: Callable[[], float]
    limit: Limit = field(init=False)
    settled: list[Settled] = field(default_factory=list[Settled])
    busy: bool = False
    used: float = field(default_factory=time.monotonic)
    outages: int = 0
    back: int = 0
    """When a receiver that is away is asked again."""
    untold: int = 0
    told: float = -_TELL_SECONDS
    broken: bool = False

    def __post_init__(self) -> None:
        self.limit = Limit(self.effect.rate)

    def run(self) -> None:
        try:
            while not self.board.stopped.is_set():
                seen = self.board.pokes
                try:
                    wait, idle = self._turn()
                    self.broken = False
                except sqlite3.Error as e:
                    # What was sent is still in `settled`, and is noted as soon as the disk lets us.
                    wait, idle = 1.0, False
                    self._disk(e)
                if wait > 0:
                    self._rest()
                    self.board.rest(self.effect.name, seen, idle, min(wait, _POLL))
            self._note()
        finally:
            self.sender.close()

    def _turn(self) -> tuple[float, bool]:
        """Sends what is due. Returns for how many seconds nothing is to be done, and whether that is because nothing is due."""
        now, name = self.now(), self.effect.name
        # Bounded, in case the clock was set back.
        if now < self.back <= now + _LONGEST_PAUSE:
            self._note()
            return (self.back - now) / 1e6, True
        free = self.limit.free(now, self.effect.together)
        if not free:
            self._note()
            return max(self.limit.wait(now), 1) / 1e6, not self.outbox.is_due(name, now=now)
        if not self.busy and not self.settled and not self.outbox.is_due(name, now=now):
            due = self.outbox.next_due(name)
            return (_POLL if due is None else max(due - now, 0) / 1e6), True
        taken = self.outbox.advance(name, self.settled, free, now=now)
        self.settled.clear()
        self.busy = bool(taken)
        self._send(taken)
        return 0.0, False

    def _send(self, taken: Sequence[tuple[Item, int]]) -> None:
        began, away = time.monotonic(), False
        for index, (item, attempts) in enumerate(taken):
            late = index > 0 and time.monotonic() - began > _TOGETHER_SECONDS
            if late or away or self.board.stopped.is_set():
                # Not tried yet: as they were.
                self.settled += [Settled(item.id, "PENDING", counts=False) for item, _ in taken[index:]]
                return
            self.limit.remember([self.now()])
            outcome = self._attempt(item)
            away = isinstance(outcome, Away)
            self.settled.append(self._outcome(item, attempts, outcome))

    def _attempt(self, item: Item) -> Outcome:
        try:
            return self.sender.send(item)
        except BaseException as e:
            return Doubt(f"{type(e).__name__}: {e}")

    def _outcome(self, item: Item, attempts: int, outcome: Outcome) -> Settled:
        self.used = time.monotonic()
        if isinstance(outcome, Sent):
            self._is_back()
            return Settled(item.id, "SENT")
        cause = redacted(outcome.cause, self.effect.secrets)[:_CAUSE]
        match outcome:
            case Refused():
                self._is_back()
                return self._lost(item, "FAILED", cause)
            case Later():
                self._is_back()
                return self._again(item, attempts, "FAILED", cause)
            case Away():
                return self._away(item, outcome.seconds, cause)
            case Doubt():
                if self.effect.on_doubt == "at_most_once":
                    return self._lost(item, "UNKNOWN", cause)
                return self._again(item, attempts, "UNKNOWN", cause)

    def _again(self, item: Item, attempts: int, at_last: State, cause: str) -> Settled:
        if attempts > self.effect.retries:
            return self._lost(item, at_last, f"given up after {attempts} attempts: {cause}")
        return Settled(item.id, "PENDING", cause, self.now() + pause(attempts, _LONGEST_PAUSE, self.share()))

    def _away(self, item: Item, seconds: float, cause: str) -> Settled:
        self.outages += 1
        self.back = self.now() + max(round(seconds * 1e6), pause(self.outages, _LONGEST_OUTAGE, self.share()))
        if self.outages == 1:
            self.say(f"effect {self.effect.name} waits for its receiver: {cause}")
        return Settled(item.id, "PENDING", cause, counts=False)

    def _is_back(self) -> None:
        if self.outages:
            self.say(f"effect {self.effect.name} goes on after {self.outages} failed attempts")
        self.outages = 0

    def _lost(self, item: Item, state: State, cause: str) -> Settled:
        """Told at once, and then not more than once a minute."""
        self.untold += 1
        if time.monotonic() - self.told >= _TELL_SECONDS:
            more = f" (and {self.untold - 1} more)" if self.untold > 1 else ""
            self.say(
                f"effect {self.effect.name}: {item.id} is {state}{more}: {cause}\n"
                f"  fix: headrace effects list {self.app} shows all of them; headrace effects resolve {self.app} ID"
            )
            self.told, self.untold = time.monotonic(), 0
        return Settled(item.id, state, cause)

    def _note(self) -> None:
        """What came of the last rows, on disk, without taking new ones."""
        if self.settled:
            self.outbox.advance(self.effect.name, self.settled, 0, now=self.now())
            self.settled.clear()

    def _rest(self) -> None:
        """A connection is not held for long when there is nothing to send."""
        if time.monotonic() - self.used > _IDLE_SECONDS:
            self.sender.close()
            self.used = time.monotonic()

    def _disk(self, error: sqlite3.Error) -> None:
        if not self.broken:
            self.say(f"effect {self.effect.name}: the outbox {self.outbox.file} can't be written: {error}")
        self.broken = True


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
