"""The routes of the server: what they answer, and who may ask. A route that is not in `routes` does not exist."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from hmac import compare_digest
from typing import Literal
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Routed

from headrace.serve import lookup, push
from headrace.serve.lookup import FEW, MANY, Range
from headrace.serve.problems import Problem, bad_request, unknown_view
from headrace.serve.records import Expired
from headrace.serve.site import Site
from headrace.serve.store import Snapshot
from headrace.serve.view import View

Access = Literal["open", "read"]
"""`open` needs no token."""
_WAIT = 10.0
"""Seconds for which an answer waits for `at_least`."""


@dataclass(frozen=True, slots=True)
class Route:
    """`path` is Starlette's."""

    path: str
    access: Access
    handle: Callable[[Site, Request], Awaitable[Response]]


async def health(site: Site, request: Request) -> Response:
    return _json(b'{"status":"ok"}')


async def ready(site: Site, request: Request) -> Response:
    """Ready once all views are filled and followed."""
    if site.commits.failure is not None:
        raise Problem(503, "not-following", site.commits.failure)
    with _snapshot(site) as snapshot:
        filling = [name for name in snapshot.views() if not snapshot.state(name).filled]
    if filling:
        raise Problem(503, "filling", f"these views are being filled: {', '.join(sorted(filling))}")
    return _json(b'{"status":"ready"}')


async def views(site: Site, request: Request) -> Response:
    found: list[bytes] = []
    with _snapshot(site) as snapshot:
        for name, view in sorted(snapshot.views().items()):
            known = {"name": name, "kind": view.kind, "topic": view.topic, "key": view.key, "columns": dict(view.columns)}
            known |= {"rows": snapshot.count(name), "filled": snapshot.state(name).filled}
            fresh = lookup.fresh(snapshot, view, site.commits.lag.get(name, 0))
            found.append(json.dumps(known, separators=(",", ":")).encode()[:-1] + b',"fresh":' + fresh + b"}")
    return _json(b'{"views":[' + b",".join(found) + b"]}")


async def rows(site: Site, request: Request) -> Response:
    """Several rows: those with the given keys, or a page of a range."""
    name, asked = request.path_params["view"], request.query_params
    await _at_least(site, name, asked.get("at_least"))
    with _snapshot(site) as snapshot:
        view = _view(snapshot, name)
        commit = lookup.at(snapshot, view, _time(request))
        fresh = lookup.fresh(snapshot, view, site.commits.lag.get(name, 0))
        if "key" in asked:
            keys = [lookup.key(view, _values(view, given)) for given in asked.getlist("key")]
            found = [lookup.row(snapshot, view, key, commit) for key in keys]
            return _json(_list([b"null" if row is None else row.value for row in found], None, fresh))
        values, following = lookup.rows(snapshot, view, _range(view, request), commit)
    return _json(_list(values, following, fresh))


async def row(site: Site, request: Request) -> Response:
    name, path = request.path_params["view"], request.scope["raw_path"].decode()
    # Split before it is decoded: a key may contain a slash, as %2F.
    values = [_unquoted(part) for part in path.split("?")[0].split("/")[3:]]
    await _at_least(site, name, request.query_params.get("at_least"))
    with _snapshot(site) as snapshot:
        view = _view(snapshot, name)
        found = lookup.row(snapshot, view, lookup.key(view, values), lookup.at(snapshot, view, _time(request)))
        fresh = lookup.fresh(snapshot, view, site.commits.lag.get(name, 0))
    if found is None:
        raise Problem(404, "no-row", f"{name} has no row with the key {', '.join(values)}", fresh=json.loads(fresh))
    return _json(b'{"row":' + found.value + b',"fresh":' + fresh + b"}")


async def changes(site: Site, request: Request) -> Response:
    """Server-sent events: the view, then its changes; or the changes after the event `Last-Event-ID`."""
    name = request.path_params["view"]
    last = request.headers.get("last-event-id") or request.query_params.get("after")
    after = None if last is None else lookup.place(last, "Last-Event-ID")
    with _snapshot(site) as snapshot:
        view = _view(snapshot, name)
        key = None
        if "key" in request.query_params:
            key = lookup.key(view, _values(view, request.query_params["key"]))
        if after is None and key is None and (count := snapshot.count(name)) > push.MOST:
            raise Problem(
                413,
                "too-large",
                f"{name} has {count:,} rows, more than the {push.MOST:,} that are sent at once",
                fix=f"read it in pages from /views/{name}, then follow it with ?after= and the `place` of the first page",
            )
        if after is not None:
            # What is not kept is an answer with a status, not an event.
            snapshot.changes(view, after, limit=1)
    return push.stream(site, view, after, key)


ROUTES = (
    Route("/health", "open", health),
    Route("/ready", "open", ready),
    Route("/views", "read", views),
    Route("/views/{view}", "read", rows),
    Route("/views/{view}/changes", "read", changes),
    Route("/views/{view}/{key:path}", "read", row),
)


def routed(site: Site) -> list[Routed]:
    return [Routed(route.path, _endpoint(site, route), methods=["GET"]) for route in ROUTES]


def _endpoint(site: Site, route: Route) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            if route.access != "open":
                _admit(site, request)
            return await route.handle(site, request)
        except Problem as e:
            return problem(e)
        except Expired as e:
            return problem(Problem(410, "expired", e.message, fix=e.fix))
        except Exception as e:
            # The trace is for who runs the server, not for who asks.
            traceback.print_exception(e, file=sys.stderr)
            return problem(Problem(500, "internal", "the server failed on this request; its log says why"))

    return endpoint


def problem(found: Problem) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if found.status == 401 else None
    return Response(json.dumps(found.json()), found.status, headers, "application/problem+json")


def _admit(site: Site, request: Request) -> None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not compare_digest(token.strip().encode(), site.settings.token.encode()):
        raise Problem(
            401,
            "no-token",
            "this needs the server's token",
            fix="send the header `Authorization: Bearer TOKEN`; `headrace serve` shows it",
        )


@contextmanager
def _snapshot(site: Site) -> Generator[Snapshot]:
    if site.reader is None:
        raise Problem(503, "filling", site.commits.failure or "the server has just started", fix="ask again in a moment")
    with site.reader.snapshot() as snapshot:
        yield snapshot


def _view(snapshot: Snapshot, name: str) -> View:
    known = snapshot.views()
    if name not in known:
        raise unknown_view(name, list(known))
    if not snapshot.state(name).filled:
        raise Problem(
            503, "filling", f"{name} is being filled", fix="ask again in a moment; GET /ready answers when it is there"
        )
    return known[name]


async def _at_least(site: Site, name: str, given: str | None) -> None:
    """Waits until the view is at that place."""
    if given is None:
        return
    least, number = lookup.place(given, "at_least"), site.commits.number
    waited = 0.0
    while True:
        with _snapshot(site) as snapshot:
            view = _view(snapshot, name)
            if lookup.reached(snapshot.state(name).place, least):
                return
            fresh = lookup.fresh(snapshot, view, site.commits.lag.get(name, 0))
        if waited >= _WAIT:
            raise Problem(504, "not-there-yet", f"{name} is not at {given} after {_WAIT:g} seconds", fresh=json.loads(fresh))
        # Short pieces: a commit may have come before it was asked for.
        number = await site.commits.after(number, 0.05)
        waited += 0.05


def _values(view: View, given: str) -> list[object]:
    """A key in a query: a JSON array of its values, or the value itself if the key is one column."""
    if len(view.key) == 1 and not given.startswith("["):
        return [given]
    try:
        found: object = json.loads(given)
    except ValueError:
        found = None
    if not isinstance(found, list):
        raise bad_request(f"key={given!r} is no JSON array", fix=f"key=[{', '.join(view.key)}]")
    return found  # pyright: ignore[reportUnknownVariableType]


def _range(view: View, request: Request) -> Range:
    asked = request.query_params
    unknown = set(asked) - {"prefix", "begins", "from", "to", "reverse", "limit", "page", "at_least", "as_of"}
    if unknown:
        raise bad_request(
            f"there is no parameter {', '.join(sorted(unknown))}",
            fix="key, prefix, begins, from, to, reverse, limit, page, at_least, as_of",
        )
    limit = asked.get("limit", str(FEW))
    if not (limit.isascii() and limit.isdigit() and 0 < int(limit) <= MANY):
        raise bad_request(f"limit={limit!r} is not a number from 1 to {MANY}")
    if asked.get("reverse", "false") not in ("true", "false"):
        raise bad_request("reverse= is true or false")
    start, stop = lookup.prefix(view, asked.getlist("prefix"), asked.get("begins"))
    if "from" in asked:
        start = max(start, lookup.bound(view, asked.getlist("from")))
    if "to" in asked:
        end = lookup.bound(view, asked.getlist("to"))
        stop = end if stop is None else min(stop, end)
    return Range(start=start, stop=stop, reverse=asked.get("reverse") == "true", limit=int(limit), page=asked.get("page"))


def _time(request: Request) -> int | None:
    given = request.query_params.get("as_of")
    return None if given is None else lookup.as_of(given)


def _unquoted(part: str) -> str:
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise bad_request(f"{part} in the path is not UTF-8") from None


def _list(values: list[bytes], following: str | None, fresh: bytes) -> bytes:
    return b'{"rows":[' + b",".join(values) + b'],"next":' + json.dumps(following).encode() + b',"fresh":' + fresh + b"}"


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})
