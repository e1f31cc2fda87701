"""Lists, creates, describes, alters or deletes topics."""

from __future__ import annotations

import argparse
import sys

from headrace.broker import topics
from headrace.cli import columns, flags
from headrace.errors import ConfigError
from headrace.printable import printable


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="action", required=True)

    listing = actions.add_parser("list", help="all topics")
    listing.add_argument("--internal", action="store_true", help="include Kafka's own")
    listing.set_defaults(action=_list)

    create = actions.add_parser("create", help="a new topic")
    create.add_argument("name")
    create.add_argument("--partitions", type=_positive, metavar="N", help="default: the broker's")
    create.add_argument("--config", action="append", default=[], metavar="KEY=VALUE", help="such as cleanup.policy=compact")
    create.set_defaults(action=_create)

    describe = actions.add_parser("describe", help="partitions, offsets, and what differs from the defaults")
    describe.add_argument("name")
    describe.set_defaults(action=_describe)

    alter = actions.add_parser("alter", help="some settings of a topic; existing records keep what they have")
    alter.add_argument("name")
    alter.add_argument(
        "--config", action="append", required=True, metavar="KEY=VALUE", help="such as message.timestamp.type=LogAppendTime"
    )
    alter.set_defaults(action=_alter)

    delete = actions.add_parser("delete", help="a topic and all its records")
    delete.add_argument("name")
    delete.add_argument("--yes", action="store_true", help="don't ask")
    delete.set_defaults(action=_delete)

    for action in (listing, create, describe, alter, delete):
        flags.setting(action, "broker")
    for action in (listing, describe):
        flags.json(action)


def run(args: argparse.Namespace) -> int:
    return args.action(args)


def _list(args: argparse.Namespace) -> int:
    found = topics.listing(flags.connect(args), internal=args.internal)
    rows = [{"topic": t.name, "partitions": t.partitions, "records": t.records} for t in found]
    columns.show(rows, as_json=args.json, empty="no topics yet: headrace topics create NAME")
    return 0


def _create(args: argparse.Namespace) -> int:
    topics.create(flags.connect(args), args.name, partitions=args.partitions, config=_settings(args.config))
    print(f"created {args.name}")
    return 0


def _alter(args: argparse.Namespace) -> int:
    topics.alter(flags.connect(args), args.name, _settings(args.config))
    print(f"altered {args.name}")
    return 0


def _describe(args: argparse.Namespace) -> int:
    topic = topics.describe(flags.connect(args), args.name)
    rows = [{"partition": p.number, "begin": p.begin, "end": p.end, "records": p.end - p.begin} for p in topic.partitions]
    if args.json:
        columns.show([{"topic": topic.name, "config": topic.config, "partitions": rows}], as_json=True)
        return 0
    print(topic.name)
    for name, value in topic.config.items():
        print(printable(f"  {name} = {value}"))
    columns.show(rows, as_json=False)
    return 0


def _delete(args: argparse.Namespace) -> int:
    connection = flags.connect(args)
    topic = topics.describe(connection, args.name)
    records = sum(p.end - p.begin for p in topic.partitions)
    if not args.yes and not _confirmed(f"delete topic {args.name} and its {records} records at {connection.address}?"):
        print("nothing was deleted", file=sys.stderr)
        return 1
    topics.delete(connection, args.name)
    print(f"deleted {args.name}")
    return 0


def _settings(pairs: list[str]) -> dict[str, str]:
    wrong = next((pair for pair in pairs if "=" not in pair), None)
    if wrong:
        raise ConfigError(f"--config {wrong} has no value", fix="--config KEY=VALUE")
    return dict(pair.split("=", 1) for pair in pairs)


def _confirmed(question: str) -> bool:
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError("a number above 0")
    return int(text)
