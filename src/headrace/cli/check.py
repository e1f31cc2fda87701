"""Checks an application without running it: names, types, functions, windows. Needs no broker."""

from __future__ import annotations

import argparse
import sys

from headrace.cli import flags


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app", metavar="FILE.py[:NAME]")


def run(args: argparse.Namespace) -> int:
    from headrace.runtime.load import load

    app = load(args.app)
    app.queries()
    print("names are fine; checking types and functions with Spark ...", file=sys.stderr, flush=True)
    from headrace.runtime.check import check

    specs = check(app, flags.config(args))
    print(f"{app.name}: {len(specs)} {'query' if len(specs) == 1 else 'queries'}, no errors found")
    return 0
