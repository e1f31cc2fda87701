"""Shows the records of a topic, without a consumer group. A line is partition, offset, time, key, value.

headrace peek trades --from "5 minutes ago" --follow
headrace peek companies --table
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from headrace.broker import peek, records
from headrace.broker.records import Stored
from headrace.cli import columns, flags
from headrace.errors import ConfigError
from headrace.printable import json_line, printable

FEW = 10


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--from", dest="start", default="start", metavar="WHERE", help='start, end, an offset, a time, or "5 minutes ago"'
    )
    where.add_argument("--last", type=int, metavar="N", help="the newest N records")
    parser.add_argument(
        "-n",
        "--limit",
        type=int,
        metavar="N",
        help=f"stop after N records; 0 is all (default {FEW}; all with --follow, --table)",
    )
    parser.add_argument("--partition", type=int, metavar="N", help="only this partition")
    parser.add_argument("-f", "--follow", action="store_true", help="wait for new records")
    parser.add_argument("--table", action="store_true", help="the newest value of each key, or of all if none has a key")
    flags.setting(parser, "broker")
    flags.json(parser)


def run(args: argparse.Namespace) -> int:
    if args.follow and (args.table or args.last):
        raise ConfigError("--follow goes with neither --table nor --last", fix="leave one of them out")
    start = peek.start_from(args.start)
    connection = flags.connect(args)
    found: Iterable[Stored]
    if args.last:
        found = peek.last(connection, args.topic, args.last, partition=args.partition)
    else:
        few = None if args.follow or args.table else FEW
        limit = few if args.limit is None else args.limit or None
        found = peek.read(connection, args.topic, start=start, partition=args.partition, limit=limit, follow=args.follow)
    if args.table:
        _show_table(found, args.json)
        return 0
    for record in found:
        line = json_line(records.to_json(record)) if args.json else printable(records.to_line(record))
        # Flushed line by line, so that a pipe sees what came.
        print(line, flush=args.follow)
    return 0


def _show_table(found: Iterable[Stored], as_json: bool) -> None:
    rows = list(peek.table(found).values())
    if as_json:
        columns.show([records.to_json(row) for row in rows], as_json=True)
        return
    shown = [{"key": records.readable(r.key), "value": records.readable(r.value), "time": records.iso(r.time)} for r in rows]
    columns.show(sorted(shown, key=lambda row: str(row["key"])), as_json=False, empty="no rows")
