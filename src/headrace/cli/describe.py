"""Draws the topology of an application. Needs neither Spark nor a broker."""

from __future__ import annotations

import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app", metavar="FILE.py[:NAME]")
    parser.add_argument("--format", choices=["text", "mermaid", "json"], default="text")
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")


def run(args: argparse.Namespace) -> int:
    from headrace.runtime.load import load

    print(load(args.app).describe(args.format))
    return 0
