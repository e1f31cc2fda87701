"""The server: answers lookups and pushes changes, while a process of its own follows the topics."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from headrace import private
from headrace.broker.client import Connection
from headrace.errors import ConfigError
from headrace.serve import ingest, routes
from headrace.serve.problems import Problem
from headrace.serve.site import Settings, Site
from headrace.serve.store import Reader
from headrace.serve.view import View

_PAUSE = 1.0


def token(folder: Path) -> str:
    """The server's token, made once; only the owner of the folder can read it."""
    file = private.folder(folder) / "token"
    if not file.exists():
        private.write(file, secrets.token_urlsafe(24))
    return file.read_text().strip()


def serve(settings: Settings, connection: Connection, views: Sequence[View], say: Callable[[str], None]) -> None:
    """Until a signal."""
    site = Site(settings)
    app = application(site, connection, views)
    with _bound(settings) as bound:
        host, port = bound.getsockname()[:2]
        say(f"views at http://{host}:{port}/views: {', '.join(view.name for view in views)}")
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2, server_header=False)
        uvicorn.Server(config).run(sockets=[bound])


def _bound(settings: Settings) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((settings.host, settings.port))
        # Who reads the address may ask at once.
        bound.listen(1024)
    except OSError as e:
        bound.close()
        raise ConfigError(
            f"views can't be served at {settings.host}:{settings.port}: {e.strerror}",
            fix="headrace serve --port 0 takes a free one",
        ) from e
    return bound


def application(site: Site, connection: Connection, views: Sequence[View]) -> Starlette:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        following = asyncio.create_task(_follow(site, connection, list(views)))
        try:
            yield
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following

    def failed(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 405:
            found = Problem(405, "not-allowed", f"{request.method} is not allowed: views are read")
        else:
            found = Problem(
                error.status_code, "not-found", f"there is nothing at {request.url.path}", fix="GET /views lists the views"
            )
        return routes.problem(found)

    return Starlette(routes=routes.routed(site), lifespan=lifespan, exception_handlers={HTTPException: failed})


async def _follow(site: Site, connection: Connection, views: list[View]) -> None:
    """Keeps the follower running, and passes its news on."""
    orders = ingest.orders(site.settings.folder / "views", connection, views)
    while True:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", ingest.__name__, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(orders)
            begun = False
            async for line in process.stdout:
                news = json.loads(line)
                site.commits.failure = news.get("failure")
                site.commits.lag |= news.get("lag", {})
                if not begun and site.commits.failure is None:
                    # All views are declared now.
                    begun = True
                    if site.reader is None:
                        site.reader = Reader(site.settings.folder / "views")
                    site.reader.refresh()
                site.commits.happened()
            site.commits.failure = f"the follower ended with exit code {await process.wait()}; it is started again"
        finally:
            process.stdin.close()
            if process.returncode is None:
                await process.wait()
        await asyncio.sleep(_PAUSE)
