"""Repairs a query whose checkpoint and destinations don't fit together: deletes the marks of the destinations that don't.

The query then continues from the checkpoint that is there, or from the beginning. Results that it has written since are written
again; results that a destination has lost stay missing. `headrace reset` computes all of them again instead.
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
    from headrace.runtime.checkpoints import repair

    app = load.load(args.file)
    repaired = repair.repair(app, args.query, flags=vars(args), display=display.choose(app.name))
    for place in repaired or ["nothing had to be repaired: every destination"]:
        print(f"{args.query}: {place} takes the next batch")
    return 0
