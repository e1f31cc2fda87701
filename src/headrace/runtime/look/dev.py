"""`headrace dev`: runs a file over the newest records of its sources, and again after each save, in one Spark.

Each time it starts without state: an edit is tried on the same records, and no earlier state can refuse it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from headrace.broker import embedded
from headrace.broker import records as written
from headrace.config import Config
from headrace.errors import HeadraceError, PlanError
from headrace.plan.queries import QuerySpec
from headrace.runtime import run, sharing
from headrace.runtime.events import Event, Note, Restarting
from headrace.runtime.load import APP_MODULE, forget, load, local_modules
from headrace.runtime.look.sample import Sample
from headrace.runtime.stop import Interrupted, Stop
from headrace.runtime.supervise import Clock, Job, Supervisor
from headrace.spark import child, jvm
from headrace.spark.session import by_value

Say = Callable[[str], None]
_TICK = 0.2
_SHOWN = 10
_ROOM = 1_000_000
"""Rows of results held in memory; after that many it restarts with the newest records."""


def dev(target: str, records: int, flags: Mapping[str, Any], say: Say) -> int:
    """Runs until a signal stops it; returns the exit code."""
    # Two saves within a second would look like one to Python's cache.
    sys.dont_write_bytecode = True
    config, stop = Config.load(flags), Stop()
    if not Path(target.partition(":")[0]).is_file():
        load(target)
    with (
        stop.signals(),
        sharing.using("dev", run.settings(config, "batches")) as user,
        embedded.using(config, "dev") if config.embedded else nullcontext(),
    ):
        saves = _Saves(target)
        while not stop.is_set():
            begun = time.monotonic()
            try:
                forget(target)
                # Before it is loaded: what is saved meanwhile is noticed.
                saves.look()
                specs = _specs(target)
                saves.note()
                spark, connection = run.start(user, config, _first(say), stop=stop, lock=None)
                with Sample(spark, connection, config, specs, records) as sample:
                    _Showing(sample, say, stop, saves, begun).run()
            except Interrupted:
                break
            except HeadraceError as e:
                say(f"error: {e}\n  waiting for the next save ...")
                _wait(saves, stop)
            except jvm.GONE:
                if not stop.is_set():
                    say("error: Spark's process ended; the next save starts a new one")
                    _wait(saves, stop)
            except Exception as e:
                # What the user's own functions raise while queries are compiled.
                say(f"error: {type(e).__name__}: {e}\n  waiting for the next save ...")
                _wait(saves, stop)
    return 0


def _specs(target: str) -> tuple[QuerySpec, ...]:
    try:
        app = load(target)
    except SystemExit as e:
        raise PlanError(
            f"loading {target} ended with exit code {e.code}", fix='move sys.exit() below if __name__ == "__main__":'
        ) from e
    by_value(APP_MODULE, *local_modules(target))
    return app.queries()


def _first(say: Say) -> Say:
    """Spark is started once."""
    return (lambda text: None) if child.running() else say


def _wait(saves: _Saves, stop: threading.Event) -> None:
    while not saves.look() and not stop.wait(_TICK):
        pass


@dataclass(slots=True)
class _Saves:
    """Which files there are, and when they were saved: the program's folder and the modules that it has loaded from there."""

    target: str
    _seen: dict[Path, tuple[int, int]] = field(default_factory=dict[Path, tuple[int, int]])

    def note(self) -> None:
        """Watches modules that were loaded since, as they are now."""
        for file, seen in self._now().items():
            self._seen.setdefault(file, seen)

    def look(self) -> bool:
        """Whether something was saved since the last call."""
        now = self._now()
        changed = any(self._seen.get(file) != seen for file, seen in now.items())
        self._seen |= now
        return changed

    def _now(self) -> dict[Path, tuple[int, int]]:
        main = Path(self.target.partition(":")[0]).resolve()
        # A known file stays watched: a module that can't be loaded now is corrected in place.
        files = {main, *main.parent.glob("*.py"), *local_modules(self.target).values(), *self._seen}
        now: dict[Path, tuple[int, int]] = {}
        for file in files:
            try:
                stat = file.stat()
            except FileNotFoundError:
                # An editor that replaces the file is between two steps.
                continue
            now[file] = (stat.st_mtime_ns, stat.st_size)
        return now


@dataclass(slots=True)
class _Showing:
    """One run, until a save, a signal or a failure."""

    sample: Sample
    say: Say
    stop: Stop
    saves: _Saves
    begun: float
    _end: threading.Event = field(default_factory=threading.Event)
    _shown: dict[str, int] = field(default_factory=dict[str, int])
    _first: bool = True

    def run(self) -> None:
        sample = self.sample
        jobs = [Job(spec, partial(sample.start, spec)) for spec in sample.specs]
        clock = Clock(lambda name, now: jvm.pulse(sample.spark, sample.clock + name, now), lambda name: 0)
        Supervisor(jobs, self._hear, self._end, watch=self._look, clock=clock).run()
        self._show()

    def _hear(self, event: Event) -> None:
        match event:
            case Note():
                self.say(event.text)
            case Restarting():
                self.say(f"{event.cause}\n  restarting in {event.wait:g} s (try {event.attempt} of {event.attempts})")
            case _:
                pass

    def _look(self) -> None:
        jvm.memory_log_cut(self.sample.spark, self.sample.log)
        self._show()
        if self.stop.is_set():
            self._end.set()
        elif self.saves.look():
            self.say("saved: restarting ...")
            self._end.set()
        elif sum(self._shown.values()) > _ROOM:
            self.say(f"{_ROOM:,} rows shown: restarting with the newest records ...")
            self._end.set()

    def _show(self) -> None:
        """Shows the newest rows since the last time."""
        sample = self.sample
        for spec in sample.specs:
            for dead in sample.dead(spec):
                self.say(f"{spec.name}: dead letter {dead.id}: {dead.cause}")
            for topic in spec.writes:
                if topic.startswith("headrace."):
                    continue
                seen = self._shown.get(topic, 0)
                there = jvm.memory_log_size(sample.spark, sample.log, topic)
                if there > seen:
                    self._rows(topic, jvm.memory_log_read(sample.spark, sample.log, topic, seen))
                    self._shown[topic] = there

    def _rows(self, topic: str, rows: list[jvm.LogRecord]) -> None:
        if self._first:
            self.say(f"first rows after {time.monotonic() - self.begun:.1f} s")
            self._first = False
        if len(rows) > _SHOWN:
            self.say(f"{topic}: {len(rows) - _SHOWN:,} earlier rows are not shown")
        for row in rows[-_SHOWN:]:
            self.say(f"{topic}: {_line(row)}")


def _line(row: jvm.LogRecord) -> str:
    if row.value is None:
        return f"{written.readable(row.key)} deleted"
    # As it would be written: decimals keep their digits.
    return written.readable(row.value)
