"""Push: a view and its changes as server-sent events. Nothing is queued: each follower reads the store at its own pace.

    event: row        data: a row                                      the view as it is, if there was no Last-Event-ID
    event: complete   id: place   data: {"rows": 3}                    that was all of it
    event: change     id: place   data: {"before": …, "after": …, "time": …}
    event: expired    data: a problem                                  who was too slow comes back without an id

The id is the place in the topic behind the change: the same in every server that follows the topic, before and after restarts.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence

from starlette.responses import Response, StreamingResponse

from headrace.serve import lookup
from headrace.serve.problems import Problem
from headrace.serve.records import Change, Expired, Place, moment
from headrace.serve.site import Site
from headrace.serve.view import View

MOST = 200_000
"""Rows that are sent before the changes, at most: they are held in memory while a client reads them."""
_SOME = 1000
_BEAT = 15.0
"""Seconds without a change after which a comment shows that the connection lives."""


def stream(site: Site, view: View, after: Place | None, key: bytes | None) -> Response:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(site, view, after, key), media_type="text/event-stream", headers=headers)


async def _events(site: Site, view: View, after: Place | None, key: bytes | None) -> AsyncIterator[bytes]:
    if after is None:
        rows, after = _whole(site, view, key)
        for start in range(0, len(rows), _SOME):
            yield b"".join(b"event: row\ndata: " + _line(row) + b"\n\n" for row in rows[start : start + _SOME])
        yield _event("complete", after, json.dumps({"rows": len(rows)}).encode())
        del rows
    number = site.commits.number
    while True:
        try:
            found, after = _next(site, view, after)
        except Expired as e:
            problem = Problem(410, "expired", e.message, fix=e.fix)
            yield b"event: expired\ndata: " + json.dumps(problem.json()).encode() + b"\n\n"
            return
        wanted = [change for change in found if key is None or change.key == key]
        if wanted:
            yield b"".join(_event("change", change.place, _change(change)) for change in wanted)
        if not found:
            before, number = number, await site.commits.after(number, _BEAT)
            if before == number:
                yield b": \n\n"


def _whole(site: Site, view: View, key: bytes | None) -> tuple[list[bytes], Place]:
    assert site.reader is not None
    with site.reader.snapshot() as snapshot:
        place = snapshot.state(view.name).place
        if key is None:
            return [row.value for _, row in snapshot.rows(view.name)], place
        row = snapshot.get(view.name, key)
        return [] if row is None else [row.value], place


def _next(site: Site, view: View, after: Place) -> tuple[Sequence[Change], Place]:
    assert site.reader is not None
    with site.reader.snapshot() as snapshot:
        return snapshot.changes(view, after, _SOME)


def _change(change: Change) -> bytes:
    before, after = (b"null" if row is None else row for row in (change.before, change.after))
    time = json.dumps(moment(change.time)).encode()
    return b'{"before":' + _line(before) + b',"after":' + _line(after) + b',"time":' + time + b"}"


def _event(name: str, place: Place, data: bytes) -> bytes:
    return f"id: {lookup.text(place)}\nevent: {name}\ndata: ".encode() + data + b"\n\n"


def _line(row: bytes) -> bytes:
    """An event's data ends at a line's end; in JSON one can only stand between values."""
    return row.replace(b"\r", b" ").replace(b"\n", b" ") if b"\n" in row or b"\r" in row else row
