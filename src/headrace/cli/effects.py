"""Shows and settles effects: the e-mails, webhook calls and calls of functions that an application's rows became.

headrace effects list app.py                       what has not been sent
headrace effects list app.py unknown               may or may not have reached the receiver
headrace effects show app.py ID
headrace effects resolve app.py ID --sent          it arrived; --again sends it again, --drop discards it
headrace effects resolve app.py --all failed --again
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from typing import Any

from headrace.broker import records
from headrace.cli import columns, flags
from headrace.effects import outbox as outboxes
from headrace.effects.outbox import STATES, Entry, Outbox, State
from headrace.errors import ConfigError, StateError
from headrace.printable import printable

_OPEN: tuple[State, ...] = ("PENDING", "SENDING", "FAILED", "UNKNOWN")
_FEW = 100


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="action", required=True)

    listing = actions.add_parser("list", help="list what has not been sent, or what is in a given state")
    flags.app(listing)
    listing.add_argument("states", nargs="*", type=_state, metavar="STATE", help=f"{', '.join(STATES)} (default: not sent)")
    listing.add_argument("-n", "--limit", type=int, default=_FEW, metavar="N", help=f"at most; 0 is all (default {_FEW})")
    listing.set_defaults(action=_list)

    show = actions.add_parser("show", help="show one, with its row")
    flags.app(show)
    show.add_argument("id")
    show.set_defaults(action=_show)

    resolve = actions.add_parser("resolve", help="settle effects that are FAILED, UNKNOWN or PENDING")
    flags.app(resolve)
    resolve.add_argument("ids", nargs="*", metavar="ID")
    resolve.add_argument(
        "--all", type=_state, choices=("FAILED", "UNKNOWN", "PENDING"), metavar="STATE", help="failed, unknown or pending"
    )
    verdict = resolve.add_mutually_exclusive_group(required=True)
    verdict.add_argument("--sent", dest="verdict", action="store_const", const="SENT", help="the receiver has it")
    verdict.add_argument("--again", dest="verdict", action="store_const", const="PENDING", help="send it again")
    verdict.add_argument("--drop", dest="verdict", action="store_const", const="DROPPED", help="never send it")
    resolve.add_argument("--yes", action="store_true", help="with --all: don't ask")
    resolve.set_defaults(action=_resolve)

    for action in (listing, resolve):
        action.add_argument("--effect", metavar="NAME", help="only this effect")
    for action in (listing, show, resolve):
        flags.setting(action, "state")
    for action in (listing, show):
        flags.json(action)


def run(args: argparse.Namespace) -> int:
    return args.action(args)


def _list(args: argparse.Namespace) -> int:
    outbox = _outbox(args)
    states = tuple(args.states) or _OPEN
    found = outbox.entries(states, effect=args.effect, most=args.limit or -1)
    rows = [_summary(entry) for entry in found]
    columns.show(rows, as_json=args.json, empty=f"nothing is {' or '.join(states)}")
    if not args.json:
        for effect, counts in outbox.counts().items():
            said = ", ".join(f"{count:,} {state}" for state, count in counts.items())
            print(printable(f"{effect}: {said}"), file=sys.stderr)
    return 0


def _show(args: argparse.Namespace) -> int:
    entry = _found(_outbox(args), args.id)
    shown = _summary(entry) | {"due": _time(entry.due or None), "row": _row(entry)}
    if args.json:
        columns.show([shown], as_json=True)
    else:
        facts = shown | {"row": entry.row or None}
        columns.show([{"what": name, "is": value} for name, value in facts.items() if value is not None], as_json=False)
    return 0


def _resolve(args: argparse.Namespace) -> int:
    if bool(args.ids) == bool(args.all):
        raise ConfigError("resolve takes ids, or --all and a state", fix="headrace effects resolve APP --all failed --again")
    outbox = _outbox(args)
    ids: list[str] = args.ids
    if args.all:
        ids = [entry.id for entry in outbox.entries((args.all,), effect=args.effect)]
        question = f"{args.verdict} for {len(ids)} that {'is' if len(ids) == 1 else 'are'} {args.all}?"
        if ids and not args.yes and not _confirmed(question):
            print("nothing was changed", file=sys.stderr)
            return 1
    else:
        for id in ids:
            _found(outbox, id)
    done = outbox.resolve(ids, args.verdict)
    print(f"{len(done)} {'is' if len(done) == 1 else 'are'} {args.verdict} now")
    for id in sorted(set(ids) - set(done)):
        print(f"{printable(id)} is {_found(outbox, id).state}: left as it is", file=sys.stderr)
    return 0 if len(done) == len(ids) else 1


def _outbox(args: argparse.Namespace) -> Outbox:
    return Outbox(outboxes.path(flags.config(args).state, flags.app_name(args)), create=False)


def _found(outbox: Outbox, id: str) -> Entry:
    entry = outbox.find(id)
    if entry is None:
        raise StateError(f"there is no {id!r} in {outbox.file}", fix="headrace effects list APP shows the ids")
    return entry


def _summary(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "effect": entry.effect,
        "state": entry.state,
        "attempts": entry.attempts,
        "created": _time(entry.created),
        "changed": _time(entry.changed),
        "cause": entry.cause,
    }


def _row(entry: Entry) -> Any:
    try:
        return json.loads(entry.row) if entry.row else None
    except ValueError:
        return entry.row


def _time(micros: int | None) -> str | None:
    return records.iso(None if micros is None else datetime.fromtimestamp(micros / 1e6, UTC))


def _state(text: str) -> State:
    for state in STATES:
        if text.upper() == state:
            return state
    raise argparse.ArgumentTypeError(f"one of {', '.join(STATES)}")


def _confirmed(question: str) -> bool:
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
