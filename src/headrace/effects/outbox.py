"""The outbox: a SQLite file with every row that is to become an effect, and what became of it.

Rows are inserted by the writer of a stream, together with the mark of its batch, in one transaction. From then on:

    PENDING -> SENDING -> SENT                  the receiver has it
                       -> FAILED                the receiver refused it for good
                       -> UNKNOWN               nobody knows; a person decides (headrace effects resolve)
                       -> PENDING               another try, not before `due`
    FAILED, UNKNOWN, PENDING -> SENT, PENDING, DROPPED      by a person

All times are microseconds since 1970. `marks` has the last batch of each query that wrote here.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from headrace.effects.effect import Item
from headrace.errors import ConfigError, StateError

State = Literal["PENDING", "SENDING", "SENT", "FAILED", "UNKNOWN", "DROPPED"]
STATES: tuple[State, ...] = get_args(State)
FORMAT = 1
FILE = "effects.db"

_BUSY_MS = 30_000
_OPEN = "state NOT IN ('SENT', 'DROPPED')"
_SCHEMA = f"""
CREATE TABLE outbox(
    id TEXT PRIMARY KEY,
    effect TEXT NOT NULL,
    row TEXT NOT NULL,
    created INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'PENDING',
    attempts INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL DEFAULT 0,
    changed INTEGER,
    cause TEXT
);
CREATE INDEX outbox_open ON outbox(state, effect, created, due) WHERE {_OPEN};
CREATE INDEX outbox_done ON outbox(changed) WHERE NOT {_OPEN} AND row <> '';
CREATE TABLE marks(query TEXT PRIMARY KEY, checkpoint TEXT, batch INTEGER, hash TEXT, rows INTEGER);
PRAGMA user_version = {FORMAT};
"""


class Entry(NamedTuple):
    """A row of the outbox, in the order of its columns."""

    id: str
    effect: str
    row: str
    created: int
    state: State
    attempts: int
    due: int
    changed: int | None
    cause: str | None


class Settled(NamedTuple):
    """What came of an attempt. One that does not count leaves the number of attempts as it was."""

    id: str
    state: State
    cause: str | None = None
    due: int = 0
    counts: bool = True


def micros() -> int:
    return time.time_ns() // 1000


def path(state: str, app: str) -> Path:
    """The outbox of an application, beside its checkpoints."""
    if "://" in state:
        raise ConfigError(
            f"effects need their outbox on a disk of this machine, and `state` is {state}",
            fix="set `state` to a folder; headrace config shows where it is set",
        )
    return Path(state) / app / FILE


class Outbox:
    """One connection; threads take turns."""

    def __init__(self, file: Path, *, create: bool = True) -> None:
        self.file = file
        self._turn = threading.Lock()
        if not create and not file.is_file():
            raise StateError(f"there is no outbox {file}", fix="it is made by the first run of an application with effects")
        try:
            if create:
                _private(file)
            self._db = sqlite3.connect(file, timeout=_BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as e:
            raise _not_opened(file, e) from e
        try:
            self._open(create)
        except BaseException as e:
            self._db.close()
            if isinstance(e, sqlite3.Error):
                raise _not_opened(file, e) from e
            raise

    def close(self) -> None:
        with self._turn:
            self._db.close()

    def insert(self, effect: str, rows: Iterable[tuple[str, str]], *, now: int | None = None) -> int:
        """Adds rows (id, JSON), as the writer of a stream does; ids that are there already stay as they are."""
        created = micros() if now is None else now
        with self._transaction() as db:
            before = db.total_changes
            db.executemany(
                "INSERT OR IGNORE INTO outbox(id, effect, row, created) VALUES (?, ?, ?, ?)",
                ((id, effect, row, created) for id, row in rows),
            )
            return db.total_changes - before

    def advance(self, effect: str, settled: Sequence[Settled], most: int, *, now: int) -> list[tuple[Item, int]]:
        """Notes what came of the last attempts and takes the oldest rows that are due, with their number of attempts.

        Both are one commit: what is returned is SENDING on disk before anybody sends it.
        """
        with self._transaction() as db:
            db.executemany(
                "UPDATE outbox SET state = ?, cause = ?, due = ?, changed = ?, attempts = attempts - ? "
                "WHERE id = ? AND state = 'SENDING'",
                ((one.state, one.cause, one.due, now, 0 if one.counts else 1, one.id) for one in settled),
            )
            found = db.execute(
                f"SELECT id, row, attempts + 1 FROM outbox WHERE {_OPEN} AND state = 'PENDING' AND effect = ? AND due <= ? "
                "ORDER BY created, due, rowid LIMIT ?",
                (effect, now, most),
            ).fetchall()
            db.executemany(
                "UPDATE outbox SET state = 'SENDING', attempts = attempts + 1, changed = ? WHERE id = ?",
                ((now, id) for id, _, _ in found),
            )
        return [(Item(id, row), attempts) for id, row, attempts in found]

    def is_due(self, effect: str, *, now: int) -> bool:
        return bool(
            self._read(
                f"SELECT 1 FROM outbox WHERE {_OPEN} AND state = 'PENDING' AND effect = ? AND due <= ? LIMIT 1", (effect, now)
            )
        )

    def next_due(self, effect: str) -> int | None:
        """When the first of the waiting rows is due."""
        (found,) = self._read(f"SELECT min(due) FROM outbox WHERE {_OPEN} AND state = 'PENDING' AND effect = ?", (effect,))[0]
        return found

    def recover(self, at_least_once: Collection[str], *, now: int) -> tuple[int, int]:
        """After a crash: what was being sent goes again, or is unknown. Returns how many of each."""
        names = list(at_least_once)
        with self._transaction() as db:
            again = db.execute(
                f"UPDATE outbox SET state = 'PENDING', changed = ?, cause = 'the process ended while it was being sent' "
                f"WHERE {_OPEN} AND state = 'SENDING' AND effect IN ({', '.join('?' * len(names))})",
                (now, *names),
            ).rowcount
            unknown = db.execute(
                f"UPDATE outbox SET state = 'UNKNOWN', changed = ?, cause = 'the process ended while it was being sent' "
                f"WHERE {_OPEN} AND state = 'SENDING'",
                (now,),
            ).rowcount
        return again, unknown

    def attempted(self, effect: str, since: int, most: int) -> list[int]:
        """When this effect last happened, so that a restart does not exceed its rate."""
        rows = self._read(
            "SELECT changed FROM outbox WHERE effect = ? AND attempts > 0 AND changed > ? ORDER BY changed DESC LIMIT ?",
            (effect, since, most),
        )
        return [changed for (changed,) in rows]

    def purge(self, keyed: Collection[str], effects: Collection[str], before: int, *, most: int = 1000) -> int:
        """Forgets what was done before then: the row, and unless its effect happens once per id, also the id."""
        gone = [name for name in effects if name not in keyed]
        old = f"SELECT rowid FROM outbox WHERE NOT {_OPEN} AND row <> '' AND changed < ? ORDER BY changed LIMIT ?"
        with self._transaction() as db:
            rows = [row for (row,) in db.execute(old, (before, most))]
            db.executemany(
                f"DELETE FROM outbox WHERE rowid = ? AND effect IN ({', '.join('?' * len(gone))})",
                ((row, *gone) for row in rows),
            )
            db.executemany("UPDATE outbox SET row = '' WHERE rowid = ?", ((row,) for row in rows))
        return len(rows)

    def counts(self) -> dict[str, dict[State, int]]:
        """How many rows each effect has in each state."""
        found: dict[str, dict[State, int]] = {}
        for effect, state, count in self._read(
            "SELECT effect, state, count(*) FROM outbox GROUP BY effect, state ORDER BY 1, 2"
        ):
            found.setdefault(effect, {})[state] = count
        return found

    def waiting(self) -> dict[str, int]:
        """How many rows of each effect are not sent yet."""
        rows = self._read(
            f"SELECT effect, count(*) FROM outbox WHERE {_OPEN} AND state IN ('PENDING', 'SENDING') GROUP BY effect ORDER BY 1"
        )
        return dict(rows)

    def entries(self, states: Collection[State], *, effect: str | None = None, most: int = -1) -> list[Entry]:
        """The rows in these states, oldest first."""
        clause = f"state IN ({', '.join('?' * len(states))})" + (" AND effect = ?" if effect else "")
        rows = self._read(
            f"SELECT * FROM outbox WHERE {clause} ORDER BY created, rowid LIMIT ?",
            (*states, *([effect] if effect else []), most),
        )
        return [Entry(*row) for row in rows]

    def find(self, id: str) -> Entry | None:
        rows = self._read("SELECT * FROM outbox WHERE id = ?", (id,))
        return Entry(*rows[0]) if rows else None

    def resolve(self, ids: Iterable[str], state: State, *, now: int | None = None) -> list[str]:
        """What a person decided. Returns the ids it held for: not those that are SENT or DROPPED, nor those being sent."""
        at = micros() if now is None else now
        update = (
            f"UPDATE outbox SET state = ?, attempts = 0, due = 0, changed = ? WHERE id = ? AND {_OPEN} AND state <> 'SENDING'"
        )
        with self._transaction() as db:
            return [id for id in ids if db.execute(update, (state, at, id)).rowcount]

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with self._turn:
            # IMMEDIATE: a transaction that begins with reading can't wait for the writer before it.
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _read(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        with self._turn:
            return self._db.execute(query, values).fetchall()

    def _open(self, create: bool) -> None:
        self._db.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        self._check(create)
        if create:
            self._db.execute("PRAGMA journal_mode = WAL")
            with self._transaction() as db:
                if _version(db) == 0:
                    for statement in _SCHEMA.split(";"):
                        db.execute(statement)
        # Each commit is on disk before it returns.
        self._db.execute("PRAGMA synchronous = FULL")

    def _check(self, create: bool) -> None:
        version = _version(self._db)
        if version > FORMAT:
            raise StateError(
                f"the outbox {self.file} has format {version}, and this Headrace knows formats up to {FORMAT}",
                fix="run it with the newer Headrace that made it",
            )
        if version == 0 and self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise StateError(f"{self.file} is a database, but not an outbox", fix="move it away")
        if version == 0 and not create:
            raise StateError(f"the outbox {self.file} is empty", fix="start the application: it completes the file")


def _version(db: sqlite3.Connection) -> int:
    return db.execute("PRAGMA user_version").fetchone()[0]


def _not_opened(file: Path, error: Exception) -> StateError:
    return StateError(f"the outbox {file} can't be opened: {error}", fix="look at the file, its folder and the disk")


def _private(file: Path) -> None:
    """Rows are people's data: the folder and the file are for this user only. SQLite's side files are like the file."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if stat.S_IMODE(file.parent.stat().st_mode) & 0o077:
        file.parent.chmod(0o700)
    # Never opened when it is there: closing it would drop the locks of this process's other connections to it.
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    file.chmod(0o600)
