"""The process that follows the topics of a server's views: `python -m headrace.serve.ingest`, with its orders on stdin.

A process of its own, so that lookups don't wait for it. It writes a line of JSON to stdout whenever something became visible,
and ends when stdin does: a server that is gone leaves nobody behind.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from headrace.broker.client import Connection
from headrace.errors import HeadraceError
from headrace.serve.follow import Follower
from headrace.serve.store import Writer
from headrace.serve.view import View

_PAUSE = 1.0


def orders(folder: Path, connection: Connection, views: list[View]) -> bytes:
    """What `main` reads: one line."""
    found = {
        "folder": str(folder),
        "address": connection.address,
        "kafka": dict(connection.kafka),
        "views": [view.json() for view in views],
    }
    return json.dumps(found).encode() + b"\n"


def main() -> None:
    given: dict[str, Any] = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    connection = Connection(given["address"], given["kafka"])
    views = [View.parse(text) for text in given["views"]]
    writer = Writer(Path(given["folder"]))
    for name in set(writer.known()) - {view.name for view in views}:
        writer.forget(name)
    while True:
        try:
            _follow(connection, writer, views)
        except HeadraceError as e:
            _say({"failure": str(e)})
            time.sleep(_PAUSE)


def _follow(connection: Connection, writer: Writer, views: list[View]) -> None:
    follower = Follower(connection, writer, views)
    try:
        _say({"lag": {view.name: follower.lag(view.name) for view in views}})
        while True:
            if follower.poll():
                _say({"lag": {view.name: follower.lag(view.name) for view in views}})
    finally:
        follower.close()


def _say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


def _end_with_the_server() -> None:
    sys.stdin.read()
    # What is not committed is read again.
    os._exit(0)


if __name__ == "__main__":
    main()
