"""The service that runs a source beside an application: pulls records, writes them, and restarts what failed.

Two threads. The loop pulls the user's generator, and only then takes the lock and writes the record: so the generator is asked
for more only when there is room. The timer commits what has waited long enough, even while the generator waits for something.
"""

from __future__ import annotations

import inspect
import linecache
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal

from confluent_kafka import KafkaException

from headrace.broker import topics
from headrace.broker.client import Connection
from headrace.errors import BrokerError, HeadraceError, RunError, TopicError, Where
from headrace.gateways import encode, positions
from headrace.gateways.counters import Counters, Progress
from headrace.gateways.session import Broken, Limits, Session, Stopped
from headrace.plan.queries import dead_topic
from headrace.plan.source import Feed
from headrace.sources.custom import Reader, Record

Say = Callable[[str], None]
BACKOFF = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
_REST = 0.02
_TICK = 0.005
_LOOK = 1.0
_REPORT = 30.0
_SHOW = 512
_STOP_SECONDS = 5.0


class SourceFailed(RunError):
    """The user's source raised an exception."""


def prepare(feed: Feed, connection: Connection) -> None:
    """Creates the topic that is filled, or raises why the one that exists does not fit."""
    own = feed.timestamps == "record"
    topics.ensure(connection, feed.topic, config={"message.timestamp.type": "CreateTime"} if own else {})
    if own and topics.describe(connection, feed.topic).config.get("message.timestamp.type") == "LogAppendTime":
        raise TopicError(
            f"the topic {feed.topic} has the log's timestamps, and the source {feed.name!r} sets its own",
            where=feed.where,
            fix=f"headrace topics alter {feed.topic} --config message.timestamp.type=CreateTime",
        )


class Service:
    """Writes the records of one source to its topic.

    `start` creates the topics and begins. `check` raises the error that ended it. `drain` waits until all that the source has
    is in the topic: until it returns, or yields None. `stop` commits the records up to the last position.
    """

    role: Literal["feeds"] = "feeds"

    def __init__(
        self,
        app: str,
        feed: Feed,
        connection: Connection,
        *,
        say: Say = lambda text: None,
        limits: Limits | None = None,
        backoff: Sequence[float] | None = None,
    ) -> None:
        self._app, self._feed, self._connection, self._speak = app, feed, connection, say
        self._limits, self._backoff = limits or Limits(), tuple(BACKOFF if backoff is None else backoff)
        self._stop, self._begun, self._quiet = threading.Event(), threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._broken: Exception | None = None
        self._hurry = self._due = False
        self._error: HeadraceError | None = None
        self._threads: list[threading.Thread] = []
        self._committed, self._refused, self._received, self._again, self._commits = 0, 0, 0, 0, 0
        self._looked, self._seen, self._reported = time.monotonic(), 0, time.monotonic()
        self._asked = 0.0
        self.progress = Progress(feed.name, feed.topic)
        """How far it is; a new value each time, whose account closes."""

    def start(self) -> None:
        """Raises what can be known before: a broker that does not answer, a topic that does not fit."""
        prepare(self._feed, self._connection)
        topics.ensure_dead(self._connection, dead_topic(self._app))
        positions.ensure(self._connection, self._app)
        for name, work in (("", self._run), ("-timer", self._time)):
            thread = threading.Thread(target=work, name=f"headrace-source-{self._feed.name}{name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def check(self) -> None:
        """Raises the error that ended it, if one did."""
        if self._error is not None:
            raise self._error

    @property
    def caught_up(self) -> bool:
        """Whether all that the source had when it was last asked is in the topic."""
        return self._quiet.is_set()

    def drain(self, timeout: float | None = None) -> bool:
        """For bounded runs: commits what is there without waiting for more. False after `timeout`."""
        self._hurry = True
        done = self._quiet.wait(timeout)
        self.check()
        return done

    def stop(self, timeout: float = _STOP_SECONDS) -> bool:
        """False if the source does not return in time; what it yields later is not written."""
        self._stop.set()
        self._begun.set()
        end = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def __enter__(self) -> Service:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _run(self) -> None:
        failed = 0
        try:
            while not self._stop.is_set():
                commits = self._commits
                try:
                    self._attempt()
                    return
                except Stopped:
                    return
                except (SourceFailed, BrokerError, Broken, KafkaException) as e:
                    failed = 1 if self._commits > commits else failed + 1
                    error = self._as_run_error(e)
                    if failed > len(self._backoff):
                        raise error from e
                    wait = self._backoff[failed - 1]
                    self._say(f"{error}\n  restarting in {wait:g} s (try {failed} of {len(self._backoff)})")
                    self._stop.wait(wait)
        except HeadraceError as e:
            self._end(e)
        except BaseException as e:
            where = _raised(e, self._feed.reader) or self._feed.where
            self._end(RunError(f"the source {self._feed.name!r} ended: {type(e).__name__}: {e}", where=where))
        finally:
            self._stop.set()
            self._begun.set()
            self._quiet.set()

    def _attempt(self) -> None:
        """From the fence to the end of the data."""
        session = Session(self._connection, self._app, self._feed, self._limits, self._stop.is_set)
        records: Iterator[object] = iter(())
        try:
            with self._lock:
                self._session, self._broken = session, None
                self._show(session)
            if session.stored.position is not None:
                self._say(f"source {self._feed.name!r} resumes after {session.stored.position!r}")
            try:
                records = iter(self._feed.reader.read(positions.own(session.stored.position)))
            except Exception as e:
                raise self._users(e, session) from e
            self._pump(session, records)
        except (encode.BadYield, positions.BadPosition) as e:
            e.where = e.where or _line(records) or self._feed.where
            e.message = f"source {self._feed.name!r}: {e.message}"
            raise
        finally:
            with self._lock:
                self._session = None
                self._roll_back(session)
                session.close()
            with suppress(Exception):
                getattr(records, "close", lambda: None)()

    def _pump(self, session: Session, records: Iterator[object]) -> None:
        lock, stopped, add = self._lock, self._stop.is_set, session.add
        while True:
            try:
                item = next(records)
            except StopIteration:
                return self._finish(session)
            except Exception as e:
                raise self._users(e, session) from e
            if stopped():
                break
            if not session.complete and time.monotonic() - session.began > self._limits.timeout:
                raise self._unfinished(session, records)
            if item is None:
                self._nothing(session)
                continue
            with lock:
                if self._broken is not None:
                    raise self._broken
                if self._quiet.is_set():
                    self._quiet.clear()
                add(item if type(item) is Record else encode.checked(item))
                self._received += 1
                if session.complete and (session.full or self._due):
                    self._commit(session)
                elif not self._begun.is_set():
                    self._begun.set()
                if self._received % _SHOW == 0:
                    self._show(session)
        with lock:
            if session.began and session.complete and self._broken is None:
                self._commit(session)
        return None

    def _finish(self, session: Session) -> None:
        with self._lock:
            if self._broken is not None:
                raise self._broken
            if not session.complete:
                raise positions.BadPosition(
                    f"read() returned, and the records after {session.position!r} have no position: they would be read again",
                    fix="give the last record of a group its position",
                )
            if session.began:
                self._commit(session)
            self._show(session, last=True)
        self._say(f"{self.progress}; end of data")

    def _nothing(self, session: Session) -> None:
        asked = time.monotonic()
        with self._lock:
            if self._broken is not None:
                raise self._broken
            if session.began and session.complete and (self._due or self._hurry):
                self._commit(session)
            if not session.began:
                self._quiet.set()
            self._show(session)
        # So that a source that yields None without waiting does not spin.
        if asked - self._asked < _REST:
            self._stop.wait(_REST)
        self._asked = time.monotonic()

    def _commit(self, session: Session) -> None:
        records, refused = session.records, session.refused
        session.commit()
        self._commits += 1
        self._committed += records
        self._refused += refused
        self._due = False
        self._begun.clear()
        if refused:
            self._say(
                f"source {self._feed.name!r}: {refused} dead letters: records too large for {self._feed.topic}\n"
                f"  fix: headrace dead list {self._app}"
            )
        self._show(session)
        # Last: the records are in the topic and counted, even if this fails.
        session.renew()

    def _roll_back(self, session: Session) -> None:
        """Records that are not in the topic will be read again, and are counted then."""
        lost = self._received - self._committed - self._refused
        self._received -= lost
        self._again += lost
        self._due = False
        self._begun.clear()
        session.abort()
        self._show(session)

    def _show(self, session: Session, *, last: bool = False) -> None:
        """Called with the lock, so that all counts are of the same moment."""
        buffered = session.records + session.refused
        counters = Counters(self._received, self._committed, buffered, 0, self._refused, self._again)
        now, shown = time.monotonic(), self.progress
        rate, lag, position = shown.rate, shown.lag, session.stored.position
        look = now - self._looked >= _LOOK
        if look:
            rate, self._looked, self._seen = (self._committed - self._seen) / (now - self._looked), now, self._committed
        if look or last:
            with suppress(Exception):
                lag = None if position is None else self._feed.reader.lag(positions.own(position))
        self.progress = Progress(shown.name, shown.topic, counters, position, lag, rate)
        if now - self._reported >= _REPORT and rate:
            self._reported = now
            self._say(str(self.progress))

    def _time(self) -> None:
        """Commits what is ready while the loop waits for the source, and at the end, so that readers need not wait for it."""
        while not self._stop.is_set():
            self._begun.wait()
            session = self._session
            began = 0.0 if session is None else session.began
            left = began + self._limits.seconds - time.monotonic()
            if session is None or not began or left > 0:
                self._stop.wait(min(max(left, _TICK), self._limits.seconds))
                continue
            self._due = True
            self._commit_waiting()
            self._stop.wait(_TICK)
        self._commit_waiting()

    def _commit_waiting(self) -> None:
        with self._lock:
            session = self._session
            if session is None or not session.began or not session.complete or self._broken is not None:
                return
            try:
                self._commit(session)
            except Exception as e:
                self._broken = e
                self._begun.clear()
                self._say(f"source {self._feed.name!r}: {e}; it restarts at its next record")

    def _users(self, error: Exception, session: Session) -> SourceFailed:
        where = _raised(error, self._feed.reader) or self._feed.where
        after = "at its beginning" if session.position is None else f"after position {session.position!r}"
        return SourceFailed(
            f"the source {self._feed.name!r} raised {type(error).__name__} {after}: {error}",
            where=where,
            fix="correct it and start again; nothing is lost: it resumes after the last position stored in the topic",
        )

    def _unfinished(self, session: Session, records: Iterator[object]) -> SourceFailed:
        """The broker has ended the transaction, or is about to."""
        after = "its beginning" if session.position is None else f"position {session.position!r}"
        return SourceFailed(
            f"the source {self._feed.name!r} yielded {session.records + session.refused:,} records after {after}, and for "
            f"{self._limits.timeout:g} seconds none of them had a position, so none is in the topic",
            where=_line(records) or self._feed.where,
            fix="yield positions: records up to one with a position are written together",
        )

    def _as_run_error(self, error: Exception) -> RunError:
        match error:
            case RunError():
                return error
            case HeadraceError():
                return RunError(f"source {self._feed.name!r}: {error.message}", where=self._feed.where, fix=error.fix)
            case KafkaException():
                text = error.args[0].str()
            case _:
                text = str(error)
        return RunError(f"source {self._feed.name!r}: the broker: {text}", where=self._feed.where, fix="headrace status")

    def _end(self, error: HeadraceError) -> None:
        self._error = error
        self._say(f"{error}")

    def _say(self, text: str) -> None:
        with suppress(Exception):
            self._speak(text)


def _line(records: Any) -> Where | None:
    """The line that a generator has reached."""
    frame = getattr(records, "gi_frame", None)
    return None if frame is None else _where(frame.f_code.co_filename, frame.f_lineno)


def _raised(error: BaseException, reader: Reader) -> Where | None:
    """The innermost line of the reader's own file, else of any."""
    try:
        own = inspect.getsourcefile(type(reader))
    except TypeError:
        own = None
    lines: list[tuple[str, int]] = []
    trace = error.__traceback__
    while trace is not None:
        lines.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    # The first is ours.
    found = [place for place in lines[1:] if place[0] == own] or lines[1:]
    return _where(*found[-1]) if found else None


def _where(file: str, line: int) -> Where:
    return Where(file, line, linecache.getline(file, line).strip())
