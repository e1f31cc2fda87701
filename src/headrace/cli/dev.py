"""Runs a file while you edit it: shows its results, and starts again after each save, errors included.

It computes from the newest records of each source, and goes on with what comes. Nothing is written: no topic, no database, no
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
    parser.add_argument("--records", type=int, default=1000, metavar="N", help="of each source the newest N (default 1000)")
    flags.setting(parser, "broker", "master", "driver_memory")


def run(args: argparse.Namespace) -> int:
    from headrace.runtime.dev import dev

    if args.records < 1:
        raise ConfigError("--records must be greater than zero", fix="leave it out, or give a number such as 1000")
    try:
        return dev(args.app, args.records, vars(args), _say)
    finally:
        config = flags.config(args)
        if config.embedded and embedded.status(config).running:
            print("the embedded broker keeps running; headrace down stops it", file=sys.stderr)


def _say(text: str) -> None:
    print(printable(text, keep=LINES), flush=True)
