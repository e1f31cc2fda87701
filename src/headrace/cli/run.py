"""Runs an application until it is stopped: headrace run app.py

Ctrl-C stops it cleanly; the next run resumes where it stopped.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from headrace.broker import embedded
from headrace.cli import flags
from headrace.config import FILE, Config


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app", metavar="FILE.py[:NAME]", help="the file, and the App's name if it has several")
    parser.add_argument("--until", choices=["now"], help="process what is there now, then end")
    parser.add_argument("--realtime", action="store_true", help="results within milliseconds; some verbs are not supported")
    flags.setting(parser, "broker", "master", "state", "batch", "batch_bytes", "realtime_batch", "transaction_timeout")
    flags.setting(parser, "driver_memory", "executor_memory", "executor_cores")
    flags.json(parser)


def run(args: argparse.Namespace) -> int:
    from headrace.runtime import display
    from headrace.runtime.load import load
    from headrace.runtime.run import run

    app = load(args.app)
    config = flags.config(args)
    _hint(args.app, config)
    try:
        summary = run(
            app,
            until=args.until,
            mode="realtime" if args.realtime else "batches",
            flags=vars(args),
            display=display.choose(app.name, json=args.json),
            debug=args.debug,
        )
    finally:
        if config.embedded and embedded.status(config).running:
            print("the embedded broker keeps running; headrace down stops it", file=sys.stderr)
    if not args.json:
        for total in summary.totals:
            extras = "".join(f", {count:,} {what}" for what, count in total.left_out.items())
            print(f"{total.query}: {total.rows_in:,} in, {total.rows_out:,} out, {total.batches:,} batches{extras}")
    return 0


def _hint(target: str, config: Config) -> None:
    """Settings, state and the embedded broker are of the folder we stand in; say so where that may surprise."""
    folder = Path(target.partition(":")[0]).resolve().parent
    own = next((place for place in (folder, *folder.parents) if (place / FILE).is_file()), None)
    if own is not None and own != config.root:
        print(f"note: this runs in the project {config.root}; the file's own is {own}: cd there to use it", file=sys.stderr)
