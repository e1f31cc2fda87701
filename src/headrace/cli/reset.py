"""Starts a query over, as if it had never run: headrace reset app.py QUERY --output delete

Its state is deleted, and it reads its sources from their start again, or from their end where the stream has start="latest".
What it has written is kept (--output keep) or deleted (--output delete). Stop the application first. The same
command finishes a reset that was interrupted.
"""

from __future__ import annotations

import argparse
import sys

from headrace.cli import flags
from headrace.errors import ConfigError


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.py", help="the application, or FILE.py:NAME")
    parser.add_argument("query", help="as `headrace describe` names it")
    parser.add_argument(
        "--output", choices=["keep", "delete"], required=True, help="what happens to what the query has written"
    )
    parser.add_argument("--yes", action="store_true", help="don't ask")
    flags.setting(parser, "broker", "master", "state")


def run(args: argparse.Namespace) -> int:
    from headrace.runtime import display, load
    from headrace.runtime.checkpoints import reset

    app = load.load(args.file)
    said = reset.consequences(app, args.query, args.output, flags=vars(args))
    print(f"resetting the query {args.query}:", *(f"- {line}" for line in said), sep="\n  ", file=sys.stderr)
    if not args.yes:
        if not sys.stdin.isatty():
            raise ConfigError("a reset asks before it begins, and there is no terminal to ask on", fix="add --yes")
        print("continue? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            print("nothing was changed", file=sys.stderr)
            return 1
    reset.reset(app, args.query, args.output, flags=vars(args), display=display.choose(app.name))
    print(f"{args.query} starts over with the next run")
    return 0
