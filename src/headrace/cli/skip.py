"""Skips records that were deleted, by retention or by hand, before a query could read them.

The query continues with the records that are left, and keeps its state. What it never read is recorded beside its checkpoint,
and listed by each run. Stop the application first.
"""

from __future__ import annotations

import argparse

from headrace.cli import flags


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.py", help="the application, or FILE.py:NAME")
    parser.add_argument("query", help="as `headrace describe` names it")
    flags.setting(parser, "broker", "master", "state")


def run(args: argparse.Namespace) -> int:
    from headrace.runtime import display, load
    from headrace.runtime.checkpoints import skip

    app = load.load(args.file)
    found = skip.skip(app, args.query, flags=vars(args), display=display.choose(app.name))
    for gap in found:
        print(f"{args.query} continues without {gap.end - gap.begin:,} records: {gap}")
    if not found:
        print(f"nothing to skip: all that {args.query} has yet to read is there")
    return 0
