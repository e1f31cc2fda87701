"""Dead letters of an application: the records it could not use. Lists, shows, replays or drops them."""

from __future__ import annotations

import argparse
import sys

from headrace.broker.records import DeadLetter, iso, readable
from headrace.cli import columns, flags
from headrace.errors import ConfigError
from headrace.runtime import dead


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="action", required=True)
    for name, help, action in (
        ("list", "list them", _list),
        ("show", "show one, with its bytes", _show),
        ("replay", "write records back to their topics, to be processed again", _replay),
        ("drop", "delete them", _drop),
    ):
        command = actions.add_parser(name, help=help)
        flags.app(command)
        if name != "list":
            command.add_argument(
                "id", nargs="+" if name == "show" else "*", help="TOPIC/PARTITION/OFFSET or FILE/0/PLACE, as in the list"
            )
        if name in ("replay", "drop"):
            command.add_argument("--all", action="store_true", help="all of them")
        flags.setting(command, "broker")
        if name in ("list", "show"):
            flags.json(command)
        command.set_defaults(action=action)


def run(args: argparse.Namespace) -> int:
    return args.action(args)


def _list(args: argparse.Namespace) -> int:
    found = dead.read(flags.connect(args), flags.app_name(args))
    rows = [
        {"id": each.id, "query": each.query, "operator": each.operator, "at": iso(each.time), "cause": each.cause}
        for each in found
    ]
    columns.show(rows, as_json=args.json, empty="no dead letters")
    return 0


def _show(args: argparse.Namespace) -> int:
    for each in dead.find(flags.connect(args), flags.app_name(args), args.id):
        facts = {
            "id": each.id,
            "query": each.query,
            "operator": each.operator,
            "cause": each.cause,
            "at": iso(each.time),
            "key": None if each.record.key is None else readable(each.record.key),
            "headers": {name: readable(value) for name, value in each.record.headers},
            "value": None if each.record.value is None else readable(each.record.value),
        }
        if args.json:
            columns.show([facts], as_json=True)
        else:
            columns.show([{"what": name, "is": value} for name, value in facts.items()], as_json=False)
    return 0


def _replay(args: argparse.Namespace) -> int:
    connection, app = flags.connect(args), flags.app_name(args)
    found = _chosen(args)
    foreign = [each.id for each in found if each.foreign] if args.all else []
    files = [each.id for each in found if each.from_file] if args.all else []
    count = dead.replay(connection, app, [each for each in found if each.id not in (*foreign, *files)])
    print(f"replayed {count}: they were written back to their topics, where every reader sees them again")
    if foreign:
        print(f"left {len(foreign)} that are not dead letters: headrace dead drop {app} {foreign[0]}", file=sys.stderr)
    if files:
        print(
            f"left {len(files)} that are rows of files: put what headrace dead show {app} {files[0]} shows, corrected, into a "
            "new file of the folder; then headrace dead drop",
            file=sys.stderr,
        )
    return 0


def _drop(args: argparse.Namespace) -> int:
    connection, app = flags.connect(args), flags.app_name(args)
    print(f"dropped {dead.drop(connection, app, _chosen(args))}")
    return 0


def _chosen(args: argparse.Namespace) -> list[DeadLetter]:
    if bool(args.id) == args.all:
        raise ConfigError("which dead letters?", fix="name their ids, or --all")
    return dead.find(flags.connect(args), flags.app_name(args), args.id)
