"""Sends the lines of a file, or of stdin, to a topic: each line is one JSON record.

headrace send trades trades.jsonl --key symbol
headrace peek trades --json -n 0 | headrace send copy --records --create
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import IO

from headrace.broker import send
from headrace.broker.records import Headers
from headrace.cli import flags
from headrace.errors import ConfigError


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic")
    parser.add_argument("file", nargs="?", default="-", help="a file of lines; without it, or with -, stdin")
    parser.add_argument("--key", metavar="FIELD", help="the field whose text is the record's key")
    parser.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help="a header for every record")
    parser.add_argument("--rate", type=float, metavar="N", help="at most N records a second")
    parser.add_argument("--create", action="store_true", help="create the topic if it does not exist")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--raw", action="store_true", help="lines are plain text, not JSON")
    form.add_argument("--records", action="store_true", help="lines are records as `peek --json` writes them")
    flags.setting(parser, "broker")


def run(args: argparse.Namespace) -> int:
    if args.key and (args.raw or args.records):
        raise ConfigError("--key needs lines of JSON", fix="leave out --raw and --records, or --key")
    form: send.Form = "text" if args.raw else "records" if args.records else "json"
    headers = _headers(args.header)
    connection = flags.connect(args)
    with _opened(args.file) as file, _progress() as progress:
        name = "stdin" if args.file == "-" else args.file
        what = send.lines(file, form=form, key=args.key, headers=headers, name=name)
        sent = send.send(connection, args.topic, what, rate=args.rate, create=args.create, progress=progress)
    print(f"sent {sent.records} records to {args.topic} in {sent.seconds:.1f} s")
    return 0


def _headers(given: list[str]) -> Headers:
    for pair in given:
        if "=" not in pair:
            raise ConfigError(f"--header {pair} has no value", fix="--header NAME=VALUE")
    return tuple((name, value.encode()) for name, _, value in (pair.partition("=") for pair in given))


def _opened(name: str) -> contextlib.AbstractContextManager[IO[bytes]]:
    if name == "-":
        return contextlib.nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except OSError as e:
        raise ConfigError(f"can't read {name}: {e.strerror}") from e


@contextlib.contextmanager
def _progress() -> Generator[Callable[[int], None] | None]:
    if not sys.stderr.isatty():
        yield None
        return
    began = shown = time.monotonic()

    def progress(count: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown > 0.2:
            shown = now
            print(f"\r{count} records, {count / (now - began):.0f}/s ", end="", file=sys.stderr, flush=True)

    try:
        yield progress
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
