"""Flags that several commands share."""

from __future__ import annotations

import argparse

from headrace.broker.client import Connection
from headrace.config import SETTINGS, Config


def setting(parser: argparse.ArgumentParser, *names: str) -> None:
    """A flag for each of these settings; without it the environment, headrace.toml or the default counts."""
    for name in names:
        kind = SETTINGS[name]
        default = f" (default {kind.default})" if kind.default else ""
        parser.add_argument(f"--{name.replace('_', '-')}", metavar=name.rpartition("_")[2].upper(), help=kind.help + default)


def json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def app(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app", metavar="APP", help="the application's name, or its FILE.py")


def app_name(args: argparse.Namespace) -> str:
    """What `app` added, as a name."""
    if not args.app.partition(":")[0].endswith(".py"):
        return args.app
    from headrace.runtime import load

    return load.load(args.app).name


def config(args: argparse.Namespace) -> Config:
    return Config.load(vars(args))


def connect(args: argparse.Namespace) -> Connection:
    from headrace.broker import connect

    return connect.connect(config(args))
