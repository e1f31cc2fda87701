"""Serves a topic as a view over HTTP: rows are looked up by key, and changes are pushed.

headrace serve --topic balances --key account --schema "account string, balance decimal(12,2)"
headrace serve --topic alerts --schema "symbol string, price double"
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from contextlib import ExitStack
from pathlib import Path

from headrace import extras, locks, private
from headrace.cli import flags
from headrace.errors import ConfigError, Where


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topic", required=True, metavar="NAME", help="the topic; its records are JSON")
    parser.add_argument(
        "--key", metavar="COLUMNS", help="the columns of a table's key, with commas; without it, events are served"
    )
    parser.add_argument("--schema", required=True, help='its columns and types: "account string, balance double"')
    parser.add_argument("--name", metavar="NAME", help="the view's name (default: the topic's)")
    parser.add_argument("--keep", default="1 day", metavar="TIME", help="how long events are kept (default 1 day)")
    parser.add_argument("--history", metavar="TIME", help="how long earlier versions of a table's rows are kept, for as_of")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default 127.0.0.1)")
    parser.add_argument(
        "--port", dest="http", type=int, default=7070, help="the port to listen at (default 7070; 0 is a free one)"
    )
    flags.setting(parser, "broker")


def run(args: argparse.Namespace) -> int:
    extras.require("serve", "Views")
    from headrace.broker import connect, topics
    from headrace.plan import durations
    from headrace.plan.sql import schema
    from headrace.serve import server
    from headrace.serve.site import Settings
    from headrace.serve.view import View

    columns = schema.parse(args.schema, Where("--schema", 0))
    key = tuple(part.strip() for part in args.key.split(",")) if args.key else ()
    unknown = [column for column in key if column not in dict(columns)]
    if unknown:
        raise ConfigError(
            f"--key names {', '.join(unknown)}, which --schema does not have", fix="name the key's columns in --schema"
        )
    for name in ("keep", "history"):
        text = getattr(args, name)
        if text is not None and durations.parse(text) is None:
            raise ConfigError(f"--{name} {text!r} is no duration", fix=f'--{name} "1 hour"')
    view = View(
        name=args.name or args.topic,
        topic=args.topic,
        kind="table" if key else "stream",
        key=key,
        columns=columns,
        keep=None if key else durations.parse(args.keep),
        history=(durations.parse(args.history) or 0) if args.history else 0,
    )
    if "/" in view.name:
        raise ConfigError(f"a view can't be named {view.name!r}", fix="--name without a slash")
    config = flags.config(args)
    connection = connect.connect(config)
    topics.require(connection, args.topic)
    home = private.folder(Path(config.home) / "serve")
    folder = private.folder(home / hashlib.sha256(view.name.encode()).hexdigest()[:16])
    with ExitStack() as stack:
        try:
            stack.enter_context(locks.held(folder / "lock"))
        except locks.Taken as e:
            raise ConfigError(
                f"{view.name} is served already, by process {e.pid}",
                fix="stop that one first, or name another view with --name",
            ) from None
        settings = Settings(host=args.host, port=args.http, folder=folder, token=server.token(home))
        print(f"the token is in {home / 'token'}", file=sys.stderr)
        server.serve(settings, connection, [view], lambda text: print(text, file=sys.stderr, flush=True))
    return 0
