"""What the views of one server hold, in an LMDB file: one process writes, any number read, and nobody waits for anybody.

    meta                  view/<name> -> the view;  state/<name> -> `State`
    rows/<name>           key -> place, value            the newest row of each key; of a stream: commit, partition, offset -> …
    log/<name>            commit, partition, offset -> key, before, after        what changed, for those who follow
    undo/<name>           key, commit -> the row before that commit              for views with history
    commits/<name>        commit -> `Commit`
    age/<name>            time, key -> nothing                                   for tables with `keep`

A *commit* is what becomes visible at once: a batch of a query, or what had come of a topic without marks. A *place* in the
topic is a vector: for each partition, the next offset. Places are the same in every server that follows the topic, whatever
it commits together; so they are the ids of pushed changes, and numbers of commits never leave the server.

Commits are not flushed to the disk one by one. They survive the end of any process; after a power cut (another boot, and not
closed) the file is thrown away, and read from the topics again.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import lmdb

from headrace import private
from headrace.errors import ConfigError
from headrace.serve.records import (
    CHANGE,
    PLACE,
    ROW,
    Change,
    Commit,
    Expired,
    Place,
    Row,
    State,
    beyond,
    change_of,
    commit_of,
    later,
    moment,
    padded,
    row_of,
)
from headrace.serve.view import View

FORMAT = 1
RESUME_MILLIS = 10 * 60_000
"""How long changes are kept for those who come back, of a view without history; and how many at most."""
RESUME_CHANGES = 1_000_000
_MAP = 256 << 30
_DATABASES = 2048
_LOG = struct.Struct(">QIQ")
_COMMIT = struct.Struct(">Q")
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(slots=True)
class _Tables:
    """The databases of one view."""

    rows: Any
    log: Any
    undo: Any
    commits: Any
    age: Any


class _File:
    """The open file, and the handles in it."""

    def __init__(self, folder: Path, *, write: bool) -> None:
        self.folder = folder
        try:
            self.env: Any = lmdb.open(
                str(folder),
                map_size=_MAP,
                max_dbs=_DATABASES,
                max_readers=512,
                readonly=not write,
                sync=False,
                metasync=False,
                create=write,
                max_spare_txns=8,
                readahead=False,
                mode=0o600,
            )
        except lmdb.Error as e:
            raise ConfigError(f"the views in {folder} can't be opened: {e}", fix="headrace serve makes and follows them") from e
        self._write = write
        self._tables: dict[str, _Tables] = {}
        self.meta = self.env.open_db(b"meta", create=write)

    def tables(self, view: str, txn: Any = None) -> _Tables:
        found = self._tables.get(view)
        if found is None:
            names = ("rows", "log", "undo", "commits", "age")
            made = (self.env.open_db(f"{name}/{view}".encode(), create=self._write, txn=txn) for name in names)
            found = self._tables[view] = _Tables(*made)
        return found

    def close(self) -> None:
        self.env.close()


class Writer:
    """The one process that writes. `declare` the views, then `commit` again and again."""

    def __init__(self, folder: Path) -> None:
        private.folder(folder)
        _begin(folder)
        self._file = _File(folder, write=True)
        self._file.env.reader_check()
        self.states: dict[str, State] = {}
        self.views: dict[str, View] = {}

    def declare(self, view: View, topic_id: str, partitions: int) -> State:
        """The view as it is to be. One that has another topic, key or order of keys now begins anew."""
        file = self._file
        with file.env.begin(write=True) as txn:
            known = txn.get(_name("view", view.name), db=file.meta)
            state = txn.get(_name("state", view.name), db=file.meta)
            found = None if state is None else State.parse(state)
            if known is None or found is None or found.topic_id != topic_id or _shape(View.parse(known)) != _shape(view):
                self._drop(txn, view.name)
                zeros = (0,) * partitions
                found = State(place=zeros, oldest_place=zeros, topic_id=topic_id)
                txn.put(_name("state", view.name), found.json(), db=file.meta)
            txn.put(_name("view", view.name), view.json().encode(), db=file.meta)
        file.tables(view.name)
        self.views[view.name], self.states[view.name] = view, found
        return found

    def forget(self, name: str) -> None:
        """A view that is served no more."""
        with self._file.env.begin(write=True) as txn:
            self._drop(txn, name)
            for what in ("view", "state"):
                txn.delete(_name(what, name), db=self._file.meta)
        self.views.pop(name, None)
        self.states.pop(name, None)

    def known(self) -> list[str]:
        with self._file.env.begin() as txn:
            return list(_views(txn, self._file.meta))

    def _drop(self, txn: Any, view: str) -> None:
        tables = self._file.tables(view, txn)
        for table in (tables.rows, tables.log, tables.undo, tables.commits, tables.age):
            txn.drop(table, delete=False)

    @contextmanager
    def commit(self) -> Generator[Batch]:
        """One commit, of one view or several; nothing of it is kept if the block raises."""
        with self._file.env.begin(write=True) as txn:
            batch = Batch(self._file, txn, self.views, self.states)
            yield batch
            done = batch.finish()
        self.states.update(done)

    def flush(self) -> None:
        self._file.env.sync(True)

    def close(self) -> None:
        self.flush()
        self._file.close()
        _end(self._file.folder)


class _Open:
    """What a commit does to one view."""

    __slots__ = ("changes", "filled", "logged", "number", "place", "sources", "state", "tables", "time", "view")

    def __init__(self, view: View, state: State, tables: _Tables) -> None:
        self.view, self.state, self.tables = view, state, tables
        self.number, self.changes, self.logged = state.commit + 1, 0, True
        self.place, self.time, self.filled = list(state.place), state.time, state.filled
        self.sources = dict(state.sources)


class Batch:
    """A commit that is being made."""

    def __init__(self, file: _File, txn: Any, views: Mapping[str, View], states: Mapping[str, State]) -> None:
        self._file, self._txn, self._views, self._states = file, txn, views, states
        self._open: dict[str, _Open] = {}

    def view(self, name: str) -> _Open:
        found = self._open.get(name)
        if found is None:
            found = self._open[name] = _Open(self._views[name], self._states[name], self._file.tables(name))
        return found

    def load(self, name: str, rows: Sequence[tuple[bytes, bytes | None, int, int, int]]) -> None:
        """Rows of a table that come before anybody can follow: key, value, partition, offset, time; no change is kept."""
        opened = self.view(name)
        opened.logged = False
        cursor = self._txn.cursor(db=opened.tables.rows)
        pack, put, keep = PLACE.pack, cursor.putmulti, opened.view.keep
        items: dict[bytes, bytes | None] = {
            key: None if value is None else pack(time, partition, offset) + value
            for key, value, partition, offset, time in rows
        }
        gone = [key for key, row in items.items() if row is None]
        if keep is not None:
            for key, _, _, _, time in rows:
                self._aged(opened, key, time, self._txn.get(key, db=opened.tables.rows))
        put([(key, row) for key, row in items.items() if row is not None])
        for key in gone:
            self._txn.delete(key, db=opened.tables.rows)
        for _, _, partition, offset, time in rows:
            _advance(opened, partition, offset, time)
        opened.changes += len(rows)

    def put(self, name: str, key: bytes, value: bytes | None, partition: int, offset: int, time: int) -> None:
        """A record of a table: the row of the key now, or None for no row."""
        opened = self._open.get(name) or self.view(name)
        tables, txn = opened.tables, self._txn
        _advance(opened, partition, offset, time)
        if value is None:
            before = txn.pop(key, db=tables.rows)
            if before is None:
                return
            after = None
        else:
            after = PLACE.pack(time, partition, offset) + value
            before = txn.replace(key, after, db=tables.rows)
            if before is not None and before[ROW:] == value:
                return
        if opened.view.keep is not None:
            self._aged(opened, key, time if after is not None else None, before)
        at = _LOG.pack(opened.number, partition, offset)
        length = -1 if before is None else len(before)
        change = CHANGE.pack(time, len(key), length) + key + (before or b"") + (b"" if after is None else b"\x01" + value)  # pyright: ignore
        txn.put(at, change, db=tables.log, append=False)
        if opened.view.history:
            txn.put(key + _COMMIT.pack(opened.number), before or b"", db=tables.undo, overwrite=False)
        opened.changes += 1

    def add(self, name: str, value: bytes, partition: int, offset: int, time: int) -> None:
        """A record of a stream."""
        opened = self._open.get(name) or self.view(name)
        _advance(opened, partition, offset, time)
        at = _LOG.pack(opened.number, partition, offset)
        self._txn.put(at, PLACE.pack(time, partition, offset) + value, db=opened.tables.rows)
        opened.changes += 1

    def reached(self, name: str, place: Sequence[int], sources: Mapping[str, Sequence[int]] | None = None) -> None:
        """The view is there, though the last offsets before it may have no records."""
        opened = self.view(name)
        opened.place = [
            max(a, b) for a, b in zip(padded(opened.place, len(place)), padded(place, len(opened.place)), strict=True)
        ]
        if sources is not None:
            opened.sources = {topic: tuple(ends) for topic, ends in sources.items()}

    def filled(self, name: str) -> None:
        """From now on the view may be read, and followed."""
        self.view(name).filled = True

    def _aged(self, opened: _Open, key: bytes, time: int | None, before: bytes | None) -> None:
        if before is not None:
            self._txn.delete(_COMMIT.pack(PLACE.unpack_from(before)[0]) + key, db=opened.tables.age)
        if time is not None:
            self._txn.put(_COMMIT.pack(time) + key, b"", db=opened.tables.age)

    def finish(self) -> dict[str, State]:
        done: dict[str, State] = {}
        for name, opened in self._open.items():
            state = opened.state
            place = tuple(opened.place)
            commit = Commit(opened.time, state.place, place, opened.changes)
            self._txn.put(_COMMIT.pack(opened.number), json.dumps(commit).encode(), db=opened.tables.commits)
            fresh = State(
                commit=opened.number,
                place=place,
                time=opened.time,
                oldest=state.oldest if opened.logged else opened.number,
                oldest_place=state.oldest_place if opened.logged else place,
                oldest_time=state.oldest_time if opened.logged else opened.time,
                filled=opened.filled,
                topic_id=state.topic_id,
                sources=opened.sources,
            )
            fresh = self._trimmed(opened, fresh)
            self._txn.put(_name("state", name), fresh.json(), db=self._file.meta)
            done[name] = fresh
        return done

    def _trimmed(self, opened: _Open, state: State) -> State:
        """Forgets the oldest changes, a few commits at a time: as many as come, and some more."""
        view, txn, tables = opened.view, self._txn, opened.tables
        if view.kind == "stream":
            keep = view.keep // 1000 if view.keep is not None else RESUME_MILLIS
            limit: int | None = None
        else:
            keep = view.history // 1000 or RESUME_MILLIS
            limit = None if view.history else RESUME_CHANGES
            if view.keep is not None:
                self._expire(opened, state.time - view.keep // 1000)
        log = tables.rows if view.kind == "stream" else tables.log
        oldest, place, when, budget = state.oldest, state.oldest_place, state.oldest_time, 2 * opened.changes + 64
        while oldest < state.commit and budget > 0:
            text = txn.get(_COMMIT.pack(oldest + 1), db=tables.commits)
            commit = None if text is None else commit_of(text)
            full = limit is not None and txn.stat(log)["entries"] > limit
            if commit is not None and commit.time > state.time - keep and not full:
                break
            oldest += 1
            place, when = (place, when) if commit is None else (commit.place, commit.time)
            budget -= 1 + self._delete(opened, log, oldest)
            txn.delete(_COMMIT.pack(oldest), db=tables.commits)
        return replace(state, oldest=oldest, oldest_place=place, oldest_time=when)

    def _delete(self, opened: _Open, log: Any, number: int) -> int:
        """The changes of one commit."""
        cursor, count, head = self._txn.cursor(db=log), 0, _COMMIT.pack(number)
        found = cursor.set_range(head)
        while found and cursor.key()[:8] == head:
            if opened.view.history and opened.view.kind == "table":
                _, length, _ = CHANGE.unpack_from(cursor.value())
                key = cursor.value()[CHANGE.size : CHANGE.size + length]
                self._txn.delete(key + head, db=opened.tables.undo)
            found = cursor.delete()
            count += 1
        return count

    def _expire(self, opened: _Open, until: int) -> None:
        """Rows that were written before that time; a few at a time."""
        if until <= 0:
            return
        cursor, budget, end = self._txn.cursor(db=opened.tables.age), 2 * opened.changes + 64, _COMMIT.pack(until)
        found = cursor.first()
        while found and budget and cursor.key()[:8] < end:
            self._txn.delete(cursor.key()[8:], db=opened.tables.rows)
            found = cursor.delete()
            budget -= 1


class Reader:
    """Reads what the writer has committed; one for each process. `with reader.snapshot() as views:` is one moment of all."""

    def __init__(self, folder: Path) -> None:
        self._file = _File(folder, write=False)
        self.refresh()

    def refresh(self) -> None:
        """Gets to know views that have been declared since; not while there is a snapshot."""
        with self._file.env.begin() as txn:
            names = list(_views(txn, self._file.meta))
        for name in names:
            self._file.tables(name)

    @staticmethod
    def beside(writer: Writer) -> Reader:
        """In the writer's process, which can open the file only once."""
        reader = object.__new__(Reader)
        reader._file = writer._file  # pyright: ignore[reportPrivateUsage]
        return reader

    @contextmanager
    def snapshot(self) -> Generator[Snapshot]:
        """Of one thread, and not for long: what it sees stays in the file until it is closed."""
        with self._file.env.begin() as txn:
            yield Snapshot(self._file, txn)

    def close(self) -> None:
        self._file.close()


class Snapshot:
    """All views at one moment."""

    __slots__ = ("_file", "_txn")

    def __init__(self, file: _File, txn: Any) -> None:
        self._file, self._txn = file, txn

    def views(self) -> dict[str, View]:
        return {
            name: View.parse(self._txn.get(_name("view", name), db=self._file.meta))
            for name in _views(self._txn, self._file.meta)
        }

    def state(self, view: str) -> State:
        return State.parse(self.state_json(view))

    def state_json(self, view: str) -> bytes:
        """As it is stored: its bytes change whenever the view does."""
        return self._txn.get(_name("state", view), db=self._file.meta) or State().json()

    def count(self, view: str) -> int:
        return int(self._txn.stat(self._file.tables(view).rows)["entries"])

    def get(self, view: str, key: bytes) -> Row | None:
        stored = self._txn.get(key, db=self._file.tables(view).rows)
        return None if stored is None else row_of(stored)

    def rows(
        self, view: str, start: bytes = b"", stop: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, Row]]:
        """From `start` on, to before `stop`; backwards, the same rows from the last one on."""
        cursor = self._txn.cursor(db=self._file.tables(view).rows)
        if not reverse:
            found = cursor.set_range(start) if start else cursor.first()
            while found and (stop is None or cursor.key() < stop):
                yield cursor.key(), row_of(cursor.value())
                found = cursor.next()
            return
        found = cursor.last() if stop is None or not cursor.set_range(stop) else cursor.prev()
        while found and cursor.key() >= start:
            yield cursor.key(), row_of(cursor.value())
            found = cursor.prev()

    def commit(self, view: str, number: int) -> Commit | None:
        text = self._txn.get(_COMMIT.pack(number), db=self._file.tables(view).commits)
        return None if text is None else commit_of(text)

    def as_of(self, view: str, time: int) -> int:
        """The number of the last commit up to that time (milliseconds). Raises Expired if changes since then are not kept."""
        state = self.state(view)
        if time >= state.time:
            return state.commit
        if time < state.oldest_time:
            raise Expired(
                f"versions of rows are kept since {moment(state.oldest_time)}",
                fix="ask for a later time, or give the view a longer history=",
            )
        return self._first(state, lambda commit: commit.time > time, view) - 1

    def get_at(self, view: str, key: bytes, commit: int) -> Row | None:
        """The row as it was after that commit; the view must have history."""
        cursor = self._txn.cursor(db=self._file.tables(view).undo)
        if cursor.set_range(key + _COMMIT.pack(commit + 1)) and cursor.key()[:-8] == key:
            return row_of(cursor.value()) if cursor.value() else None
        return self.get(view, key)

    def rows_at(self, view: str, commit: int, start: bytes = b"", stop: bytes | None = None) -> Iterator[tuple[bytes, Row]]:
        """All rows as they were after that commit."""
        now = self.rows(view, start, stop)
        then = self._undone(view, commit, start, stop)
        present, past = next(now, None), next(then, None)
        while present is not None or past is not None:
            if past is None or (present is not None and present[0] < past[0]):
                assert present is not None
                yield present
                present = next(now, None)
                continue
            if present is not None and present[0] == past[0]:
                present = next(now, None)
            if past[1] is not None:
                yield past[0], past[1]
            past = next(then, None)

    def _undone(self, view: str, commit: int, start: bytes, stop: bytes | None) -> Iterator[tuple[bytes, Row | None]]:
        cursor = self._txn.cursor(db=self._file.tables(view).undo)
        found, last = cursor.set_range(start) if start else cursor.first(), None
        while found:
            key, number = cursor.key()[:-8], _COMMIT.unpack(cursor.key()[-8:])[0]
            if stop is not None and key >= stop:
                return
            if number > commit and key != last:
                last = key
                yield key, row_of(cursor.value()) if cursor.value() else None
            found = cursor.next()

    def changes(
        self, view: View, after: Place, limit: int = 10_000, *, from_commit: int | None = None
    ) -> tuple[list[Change], Place]:
        """What changed behind a place, whole commits at a time until there are `limit` changes; and the place then.

        Raises Expired if some of it is not kept any more. `from_commit` spares the search for one who has just read the
        commits before it.
        """
        state = self.state(view.name)
        width = max(len(after), len(state.place))
        after = padded(after, width)
        if any(a < b for a, b in zip(after, padded(state.oldest_place, width), strict=True)):
            raise Expired(
                "the changes since that event are not kept any more", fix="take the view as it is, and follow it from there"
            )
        found: list[Change] = []
        number = from_commit or self._first(state, lambda commit: beyond(commit.place, after), view.name)
        place = after
        while number <= state.commit and len(found) < limit:
            commit = self.commit(view.name, number)
            if commit is not None:
                found += self._changes(view, number, commit, after)
                place = later(place, commit.place)
            number += 1
        return found, place

    def _changes(self, view: View, number: int, commit: Commit, after: Place) -> Iterator[Change]:
        stream = view.kind == "stream"
        tables = self._file.tables(view.name)
        cursor, head = self._txn.cursor(db=tables.rows if stream else tables.log), _COMMIT.pack(number)
        place = list(later(after, commit.since))
        ends = padded(commit.place, len(place))
        found, last = cursor.set_range(head), 0
        while found and cursor.key()[:8] == head:
            _, partition, offset = _LOG.unpack(cursor.key())
            for passed in range(last, partition):
                place[passed] = max(place[passed], ends[passed])
            last = partition
            if offset >= after[partition]:
                place[partition] = offset + 1
                if stream:
                    row = row_of(cursor.value())
                    yield Change(cursor.key(), None, row.value, row.time, tuple(place))
                else:
                    yield change_of(cursor.value(), tuple(place))
            found = cursor.next()

    def _first(self, state: State, holds: Callable[[Commit], bool], view: str) -> int:
        """The first commit for which it holds; it holds for all after that one. One more than the last, if for none."""
        low, high = state.oldest + 1, state.commit + 1
        while low < high:
            middle = (low + high) // 2
            commit = self.commit(view, middle)
            if commit is None or not holds(commit):
                low = middle + 1
            else:
                high = middle
        return low


def _advance(opened: _Open, partition: int, offset: int, time: int) -> None:
    if partition >= len(opened.place):
        opened.place = list(padded(opened.place, partition + 1))
    opened.place[partition] = offset + 1
    if time > opened.time:
        opened.time = time


def _name(what: str, view: str) -> bytes:
    return f"{what}/{view}".encode()


def _views(txn: Any, meta: Any) -> Iterator[str]:
    cursor = txn.cursor(db=meta)
    found = cursor.set_range(b"view/")
    while found and cursor.key().startswith(b"view/"):
        yield cursor.key()[5:].decode()
        found = cursor.next()


def _shape(view: View) -> tuple[object, ...]:
    """What the stored bytes depend on."""
    return view.topic, view.kind, view.key, view.types, view.keep is None, view.history > 0


def _begin(folder: Path) -> None:
    """Throws away what may be torn."""
    note = folder / "boot"
    last = note.read_text() if note.exists() else ""
    if (folder / "data.mdb").exists() and last not in ("closed", _boot()):
        for file in folder.glob("*.mdb"):
            file.unlink()
    note.write_text(_boot())


def _end(folder: Path) -> None:
    (folder / "boot").write_text("closed")


def _boot() -> str:
    return f"{FORMAT} {_BOOT.read_text().strip() if _BOOT.exists() else os.uname().nodename}"


def erase(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
