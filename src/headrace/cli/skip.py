"""Lets a query go on whose next records were deleted, by retention or by hand, before it could read them.

It goes on with the records that are left and keeps its state. What was never read is noted beside its checkpoint, and each run
says so. Stop the application first.
"""

from __future__ import annotations

import argparse

from headrace.cli import flags


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.py", help="the application, or FILE.py:NAME")
    parser.add_argument("query", help="as `headrace describe` names it")
    flags.setting(parser, "broker", "master", "state")


def run(args: argparse.Namespace) -> int:
    from headrace.runtime import display, load, skip

    app = load.load(args.file)
    found = skip.skip(app, args.query, flags=vars(args), display=display.choose(app.name))
    for gap in found:
        print(f"{args.query} goes on without {gap.end - gap.begin:,} records: {gap}")
    if not found:
        print(f"nothing to skip: all that {args.query} has yet to read is there")
    return 0
