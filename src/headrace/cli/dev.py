"""Runs a file while you edit it: shows its results and errors, and restarts after each save.

It reads the newest records of each source, then the new ones as they arrive. It writes nothing: no topic, no database, no
e-mail, no state. `headrace run` does that.
"""

from __future__ import annotations

import argparse
import sys

from headrace.broker import embedded
from headrace.cli import flags
from headrace.errors import ConfigError
from headrace.printable import LINES, printable


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app", metavar="FILE.py[:NAME]", help="the file, and the App's name if it has several")
    parser.add_argument(
        "--records", type=int, default=1000, metavar="N", help="start with the newest N records of each source (default 1000)"
    )
    flags.setting(parser, "broker", "master", "driver_memory")


def run(args: argparse.Namespace) -> int:
    from headrace.runtime.look.dev import dev

    if args.records < 1:
        raise ConfigError("--records must be greater than zero", fix="leave it out, or write a number such as --records 1000")
    try:
        return dev(args.app, args.records, vars(args), _say)
    finally:
        config = flags.config(args)
        if config.embedded and embedded.status(config).running:
            print("the embedded broker keeps running; headrace down stops it", file=sys.stderr)


def _say(text: str) -> None:
    print(printable(text, keep=LINES), flush=True)
