"""Lookups: rows of a view by key, by prefix or range of keys, in pages; every answer says how fresh it is.

Values go out as they are in the topic: a lookup parses no row.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from headrace.serve import keys
from headrace.serve.problems import Problem, bad_request
from headrace.serve.records import Expired, Place, Row, moment
from headrace.serve.store import Snapshot
from headrace.serve.view import View

FEW, MANY = 100, 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Which rows of a view, in the order of their keys."""

    start: bytes = b""
    stop: bytes | None = None
    reverse: bool = False
    limit: int = FEW
    page: str | None = None
    """Where the page before ended."""


def fresh(snapshot: Snapshot, view: View, lag: int) -> bytes:
    """How far the view is: its place in the topic, the time of its newest record, and how many records it lacks."""
    state = snapshot.state(view.name)
    found = {"place": text(state.place), "time": moment(state.time) if state.time else None, "lag": lag}
    return json.dumps(found, separators=(",", ":")).encode()


def text(place: Place) -> str:
    """A place as it is in answers, in `at_least` and as the id of an event."""
    return ",".join(map(str, place))


def place(given: str, what: str) -> Place:
    parts = given.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        raise bad_request(
            f"{what}={given!r} is no place", fix="use the `place` of an answer, or the id of an event, as it came"
        )
    return tuple(map(int, parts))


def reached(now: Place, least: Place) -> bool:
    """Whether a view that is there holds all that was there at that place."""
    return all(end <= (now[partition] if partition < len(now) else 0) for partition, end in enumerate(least))


def key(view: View, values: Sequence[object]) -> bytes:
    """The key with these values; Problem if they are not a key of this view."""
    if view.kind == "stream":
        raise bad_request(
            f"{view.name} holds events, which have no key", fix=f"GET /views/{view.name}?reverse=true shows the newest"
        )
    if len(values) != len(view.key):
        raise bad_request(
            f"the key of {view.name} is {', '.join(view.key) or 'empty'}: {len(view.key)} values, not {len(values)}",
            fix=f"GET /views/{'/'.join((view.name, *('{' + column + '}' for column in view.key)))}",
        )
    return refused(view, lambda: keys.encode(values, view.types))


def prefix(view: View, values: Sequence[str], begins: str | None) -> tuple[bytes, bytes | None]:
    """The range of the keys whose first columns have these values, and whose next one, a text, begins so."""
    if len(values) + (begins is not None) > len(view.key):
        raise bad_request(f"the key of {view.name} has {len(view.key)} columns: {', '.join(view.key)}")
    if begins is not None and view.types[len(values)] != "string":
        raise bad_request(f"{view.key[len(values)]} is no text: `begins` is for texts", fix="use `from` and `to`")
    start = refused(view, lambda: keys.prefix(values, view.types, begins))
    return start, keys.after(start) if start else None


def bound(view: View, values: Sequence[str]) -> bytes:
    """The first key with these values in its first columns."""
    if len(values) > len(view.key):
        raise bad_request(f"the key of {view.name} has {len(view.key)} columns: {', '.join(view.key)}")
    return refused(view, lambda: keys.prefix(values, view.types))


def refused(view: View, encode: Callable[[], bytes]) -> bytes:
    try:
        return encode()
    except keys.KeyRefused as e:
        kinds = ", ".join(f"{column} {kind}" for column, kind in zip(view.key, view.types, strict=True))
        raise bad_request(f"{e}; the key of {view.name} is {kinds}") from e


def as_of(given: str) -> int:
    """A time in milliseconds: ISO 8601, or milliseconds since 1970."""
    if given.isascii() and given.isdigit() and len(given) < 16:
        return int(given)
    try:
        time = datetime.fromisoformat(given)
    except ValueError:
        raise bad_request(f"as_of={given!r} is no time", fix="as_of=2026-01-31T09:30:00Z") from None
    if time.tzinfo is None:
        raise bad_request(f"as_of={given!r} has no time zone", fix=f"as_of={given}Z is in UTC")
    return int(time.timestamp() * 1000)


def at(snapshot: Snapshot, view: View, time: int | None) -> int | None:
    """The commit of that time; None for now."""
    if time is None:
        return None
    if not view.history:
        raise bad_request(
            f"{view.name} keeps no earlier versions", fix=f'serve it with history: .serve("{view.name}", history="1 hour")'
        )
    return snapshot.as_of(view.name, time)


def row(snapshot: Snapshot, view: View, key: bytes, commit: int | None) -> Row | None:
    return snapshot.get(view.name, key) if commit is None else snapshot.get_at(view.name, key, commit)


def rows(snapshot: Snapshot, view: View, asked: Range, commit: int | None) -> tuple[list[bytes], str | None]:
    """The values of a page, and where the next one begins. Pages of a view with history are all as of the first one."""
    start, stop = asked.start, asked.stop
    if asked.page is not None:
        last, then = _page(asked.page)
        commit = then if then is not None else commit
        # No key begins with another one: so this is behind the last one and all its versions, and before the next.
        start, stop = (start, last) if asked.reverse else (last + b"\xff", stop)
    state = snapshot.state(view.name)
    if commit is None and view.history and view.kind == "table":
        commit = state.commit
    if commit is not None and not state.oldest <= commit <= state.commit:
        raise Expired(
            "the first of these pages is too old: the rows as they were then are not kept any more",
            fix="ask for the first page again",
        )
    found: list[tuple[bytes, Row]] = []
    for each in _between(snapshot, view, start, stop, commit, reverse=asked.reverse):
        if len(found) == asked.limit:
            return [row.value for _, row in found], _token(found[-1][0], commit)
        found.append(each)
    return [row.value for _, row in found], None


def _between(
    snapshot: Snapshot, view: View, start: bytes, stop: bytes | None, commit: int | None, *, reverse: bool
) -> Iterator[tuple[bytes, Row]]:
    if commit is None or commit == snapshot.state(view.name).commit:
        return snapshot.rows(view.name, start, stop, reverse=reverse)
    then = snapshot.rows_at(view.name, commit, start, stop)
    return iter(list(then)[::-1]) if reverse else then


def _token(key: bytes, commit: int | None) -> str:
    return base64.urlsafe_b64encode(json.dumps([key.hex(), commit]).encode()).decode()


def _page(token: str) -> tuple[bytes, int | None]:
    try:
        last, commit = json.loads(base64.urlsafe_b64decode(token))
        if commit is None or type(commit) is int:
            return bytes.fromhex(last), commit
    except (ValueError, TypeError):
        pass
    raise Problem(400, "bad-request", "page= is not what an answer had as `next`", fix="ask without page= for the first page")
