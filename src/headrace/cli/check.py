"""Checks an application without running it: names, types, functions, windows. Needs no broker.

Takes about a second. With --spark, Spark itself checks every expression and query, once it has started.
"""

from __future__ import annotations

import argparse
import sys

from headrace.cli import flags


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app", metavar="FILE.py[:NAME]")
    parser.add_argument("--spark", action="store_true", help="let Spark check all types too")


def run(args: argparse.Namespace) -> int:
    from headrace.runtime.load import load

    app = load(args.app)
    specs = app.queries()
    if args.spark:
        print("names are fine; checking types with Spark ...", file=sys.stderr, flush=True)
        # Imports pyspark, which takes longer than all other checks.
        from headrace.runtime.look.check import check

        specs = check(app, flags.config(args))
    checked = "no errors found" if args.spark else "no errors found without Spark; --spark checks all types"
    print(f"{app.name}: {len(specs)} {'query' if len(specs) == 1 else 'queries'}, {checked}")
    return 0
