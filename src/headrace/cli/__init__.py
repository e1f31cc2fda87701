"""The command line.

A command is a file of this folder: its docstring is the description, `arguments(parser)` adds its flags, `run(args)` does it
and returns the exit code. Only the file of the command that was typed is imported; the table below is what `--help` shows.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.errors import HeadraceError
from headrace.version import __version__

COMMANDS = {
    "new": "start a project: one application, headrace.toml, a test",
    "run": "run an application",
    "dev": "run a file while you edit it, and show its results",
    "check": "check an application without running it",
    "describe": "draw the topology of an application",
    "up": "start the embedded broker",
    "down": "stop the embedded broker; its data stays",
    "status": "which broker this project uses, and whether it answers",
    "topics": "list, create, describe or delete topics",
    "send": "send lines to a topic",
    "peek": "show the records of a topic",
    "serve": "serve a topic as a view: look up rows, follow changes",
    "effects": "list and settle e-mails, webhook calls and calls of functions",
    "dead": "records that could not be used: list, show, replay, drop",
    "repair": "resume a query whose checkpoint and destinations don't match",
    "reset": "start a query from the beginning; its output is kept or deleted",
    "skip": "resume a query whose next records were deleted",
    "config": "the settings, and where each came from",
    "doctor": "check this machine: Java, jars, broker, Spark",
}
INTERRUPTED = 130
TERMINATED = 143
BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    argv = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in argv
    try:
        with _terminable():
            return _main(argv)
    except HeadraceError as e:
        if debug:
            raise
        print(f"error: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has left (`| head`). Python flushes stdout once more at exit: let it flush into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def _main(argv: Sequence[str]) -> int:
    args = _parser(argv).parse_args(argv)
    return int(args.run(args) or 0)


@contextmanager
def _terminable() -> Generator[None]:
    """SIGTERM ends a command as Ctrl-C does: what it has started is ended too."""

    def end(number: int, frame: object) -> None:
        print("terminated", file=sys.stderr)
        raise SystemExit(TERMINATED)

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headrace", description="Streams and tables for Python, on Spark.")
    parser.add_argument("--version", action="version", version=f"headrace {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the trace of an error")
    commands = parser.add_subparsers(metavar="command", required=True)
    typed = next((word for word in argv if not word.startswith("-")), None)
    for name, help in COMMANDS.items():
        command = commands.add_parser(name, help=help)
        if name == typed:
            _fill(command, name)
    return parser


def _fill(parser: argparse.ArgumentParser, name: str) -> None:
    module = _module(name)
    parser.description = (module.__doc__ or "").strip()
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    # SUPPRESS: a flag after the command must not undo the one before it.
    parser.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show the trace of an error")
    module.arguments(parser)
    parser.set_defaults(run=module.run)


def _module(name: str) -> Any:
    path = f"headrace.cli.{name}"
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as e:
        if e.name != path:
            raise
        raise HeadraceError(f"headrace {name} is not part of this build") from e
