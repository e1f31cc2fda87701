"""Runs an application until it is stopped: headrace run app.py

Ctrl-C stops it cleanly; started again, it goes on where it was.
"""

from __future__ import annotations

import argparse
import sys

from headrace.cli import flags


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app", metavar="FILE.py[:NAME]", help="the file, and the App's name if it has several")
    parser.add_argument("--until", choices=["now"], help="process what is there now, then end")
    flags.setting(parser, "broker", "master", "state", "batch", "driver_memory")
    flags.json(parser)


def run(args: argparse.Namespace) -> int:
    from headrace.runtime import display
    from headrace.runtime.load import load
    from headrace.runtime.run import run

    app = load(args.app)
    summary = run(app, until=args.until, flags=vars(args), display=display.choose(app.name, json=args.json), debug=args.debug)
    if flags.config(args).embedded:
        print("the embedded broker keeps running; headrace down stops it", file=sys.stderr)
    if not args.json:
        for total in summary.totals:
            extras = f", {total.late:,} late" * bool(total.late) + f", {total.bad:,} bad" * bool(total.bad)
            print(f"{total.query}: {total.rows_in:,} in, {total.rows_out:,} out, {total.batches:,} batches{extras}")
    return 0
