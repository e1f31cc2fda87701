"""Stops the embedded broker of this project. Its data stays, and so does its port."""

from __future__ import annotations

import argparse

from headrace.broker import embedded
from headrace.cli import flags


def arguments(parser: argparse.ArgumentParser) -> None: ...


def run(args: argparse.Namespace) -> int:
    stopped = embedded.down(flags.config(args))
    print("stopped" if stopped else "the embedded broker was not running")
    return 0
