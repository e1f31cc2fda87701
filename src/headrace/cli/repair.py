"""Lets a query go on whose checkpoint was lost or put back: what its sinks remember of it is forgotten.

The query then goes on from the checkpoint that is there, or from the beginning, and writes again what it has written since.
"""

from __future__ import annotations

import argparse

from headrace.cli import flags


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.py", help="the application, or FILE.py:NAME")
    parser.add_argument("query", help="as `headrace describe` names it")
    flags.setting(parser, "broker", "master", "state")


def run(args: argparse.Namespace) -> int:
    from headrace.runtime import display, load, repair

    app = load.load(args.file)
    repair.repair(app, args.query, flags=vars(args), display=display.choose(app.name))
    print(f"{app.name}: the sinks of {args.query} will take whatever comes next")
    return 0
