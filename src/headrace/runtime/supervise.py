"""Keeps queries running: watches them, restarts what failed with back-off, and gives up on what can't get better."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql.streaming.query import StreamingQuery

from headrace.errors import BrokerError, RunError
from headrace.plan.queries import QuerySpec
from headrace.runtime import failures, progress
from headrace.runtime.events import BatchDone, Listener, Note, Restarting
from headrace.runtime.pace import Pace, still_open
from headrace.runtime.progress import Total
from headrace.spark import jvm

_TICK = 0.2
_BACKOFF = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)


@dataclass(slots=True)
class Job:
    """A query and what is known of it."""

    spec: QuerySpec
    start: Callable[[], StreamingQuery]
    oversized: Callable[[int], int] = lambda batch: 0
    """How many rows of a batch were too large to be written."""
    query: StreamingQuery | None = None
    total: Total = field(init=False)
    pace: Pace = field(init=False)
    seen: int = -1
    failed: int = 0
    due: float = 0.0
    done: bool = False

    def __post_init__(self) -> None:
        self.total = Total(query=self.spec.name)
        self.pace = Pace(self.spec, _now())


@dataclass(frozen=True, slots=True)
class Clock:
    """Sets the clocks of queries, and reads the last time that was set; 0 for none."""

    beat: Callable[[str, int], None] = lambda name, time: None
    last: Callable[[str], int] = lambda name: 0


@dataclass(slots=True)
class Supervisor:
    """Runs jobs until they end, `stop` is set, or one fails for good."""

    jobs: Sequence[Job]
    emit: Listener
    stop: threading.Event
    before_restart: Callable[[], None] = lambda: None
    watch: Callable[[], None] = lambda: None
    clock: Clock = field(default_factory=lambda: Clock())
    debug: bool = False

    def run(self) -> None:
        try:
            for job in self.jobs:
                self._start(job)
            while not self.stop.wait(_TICK) and not all(job.done for job in self.jobs):
                self.watch()
                for job in self.jobs:
                    self._look(job)
        finally:
            self._end(job.query for job in self.jobs if job.query is not None)
            for job in self.jobs:
                self._report(job)

    def _start(self, job: Job) -> None:
        try:
            job.query = job.start()
        except jvm.Stopped as e:
            self._failed(job, failures.judge(e.failure, job.spec), e.failure.trace)

    def _look(self, job: Job) -> None:
        if job.done:
            return
        if job.query is None:
            if time.monotonic() >= job.due:
                self._restart(job)
            return
        active = job.query.isActive
        self._report(job)
        if active:
            self._pulse(job, job.query)
            return
        failure = jvm.failure(job.query)
        if failure is None:
            job.done = True
            return
        self._failed(job, failures.judge(failure, job.spec), failure.trace)

    def _report(self, job: Job) -> None:
        if job.query is None:
            return
        for batch in progress.batches(job.spec, job.query, job.seen, job.oversized):
            job.pace.note(batch, _now())
            batch = replace(batch, held_by=job.pace.slowest(), newest=dict(job.pace.newest))
            job.seen, job.failed = batch.batch, 0
            job.total = job.total.plus(batch)
            if batch.problem:
                self.emit(Note(f"query {batch.query!r}: the account of batch {batch.batch} does not close: {batch.problem}"))
            self.emit(BatchDone(batch, job.total))

    def _pulse(self, job: Job, query: StreamingQuery) -> None:
        """A long batch is no silence, and neither is the time before a query has looked for the first time."""
        if not job.spec.paced:
            return
        now = _now()
        if query.lastProgress is None or query.status["isDataAvailable"]:
            job.pace.wait(now)
            return
        job.pace.wait(now, still_open((other.spec, other.pace) for other in self.jobs if other is not job))
        watermark = progress.watermark(query)
        names = {source: job.spec.pulse(source) for source in job.spec.sources}
        # A pulse moves the watermark to its time less the lateness.
        pulsed = watermark is not None and any(
            self.clock.last(name) - (source.lateness or 0) >= watermark for source, name in names.items()
        )
        for source, far in job.pace.pulses(now, watermark, pulsed).items():
            self.clock.beat(names[source], far)

    def _failed(self, job: Job, verdict: failures.Verdict, trace: str) -> None:
        if self.debug:
            self.emit(Note(trace))
        if verdict.lasting or job.failed >= len(_BACKOFF):
            raise verdict.error
        wait = _BACKOFF[job.failed]
        job.query, job.failed, job.due = None, job.failed + 1, time.monotonic() + wait
        job.total = replace(job.total, restarts=job.total.restarts + 1)
        self.emit(Restarting(job.spec.name, verdict.error, wait, job.failed, len(_BACKOFF)))

    def _restart(self, job: Job) -> None:
        try:
            self.before_restart()
        except RunError as e:
            self._failed(job, failures.Verdict(e, lasting=False), "")
            return
        try:
            self._start(job)
        except BrokerError as e:
            # It is gone again.
            self._failed(job, failures.Verdict(RunError(e.message, fix=e.fix), lasting=False), "")

    def _end(self, queries: Iterable[StreamingQuery]) -> None:
        """All at once: each may take a moment to let go of its batch."""
        threads = [threading.Thread(target=query.stop) for query in queries if query.isActive]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _now() -> int:
    """In microseconds, by a clock that nobody sets."""
    return time.monotonic_ns() // 1000
