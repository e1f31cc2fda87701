"""The thread of one effect: takes rows, has them sent, notes what came of it.

Sent       SENT
Refused    FAILED
Later      another try, with growing pauses; FAILED after `retries`
Away       the effect pauses, the row stays the first; this does not count as a try
Doubt      at_most_once: UNKNOWN. at_least_once: another try; UNKNOWN after `retries`
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headrace.effects.effect import Away, Doubt, Effect, Item, Later, Outcome, Refused, Sender, Sent
from headrace.effects.outbox import Outbox, Settled, State
from headrace.effects.rate import Limit
from headrace.errors import HeadraceError
from headrace.secrets import redacted

_POLL = 0.5
_TOGETHER_SECONDS = 0.25
_IDLE_SECONDS = 5.0
_FIRST_PAUSE = 1_000_000
_LONGEST_PAUSE = 3600 * 1_000_000
_LONGEST_OUTAGE = 60 * 1_000_000
_REPORT_SECONDS = 60.0
_CAUSE = 1000

Say = Callable[[str], None]


def pause(attempt: int, longest: int, share: float) -> int:
    """How long to wait after so many attempts, in microseconds: twice as long each time, less a random part."""
    return round(min(longest, _FIRST_PAUSE << min(attempt - 1, 40)) * (0.5 + share / 2))


class Board:
    """How the threads signal each other: there is something new, nothing is due, it is over."""

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
        self.check()
        return done

    def check(self) -> None:
        if self._error is not None:
            raise HeadraceError(f"effects are no longer being sent: {self._error}", fix="start it again") from self._error

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
class Worker:
    """The thread of one effect."""

    app: str
    effect: Effect
    sender: Sender
    outbox: Outbox
    board: Board
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
    unreported: int = 0
    reported: float = -_REPORT_SECONDS
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
            self.say(f"effect {self.effect.name} works again after {self.outages} failed attempts")
        self.outages = 0

    def _lost(self, item: Item, state: State, cause: str) -> Settled:
        """Reported at once, then at most once a minute."""
        self.unreported += 1
        if time.monotonic() - self.reported >= _REPORT_SECONDS:
            more = f" (and {self.unreported - 1} more)" if self.unreported > 1 else ""
            self.say(
                f"effect {self.effect.name}: {item.id} is {state}{more}: {cause}\n"
                f"  fix: headrace effects list {self.app} shows all of them; headrace effects resolve {self.app} ID"
            )
            self.reported, self.unreported = time.monotonic(), 0
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
