"""Stops the embedded broker of this project. Its data stays, and so does its port.

A broker that an application is using is stopped only with --force; the application then ends with an error.
"""

from __future__ import annotations

import argparse

from headrace.broker import embedded
from headrace.cli import flags
from headrace.errors import BrokerError


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="even while applications use it")


def run(args: argparse.Namespace) -> int:
    config = flags.config(args)
    users = embedded.users(config)
    if users and not args.force:
        names = " and ".join(f"{app!r} (process {pid})" for pid, app in users.items())
        raise BrokerError(
            f"{names} {'is' if len(users) == 1 else 'are'} using the embedded broker",
            fix=f"stop it first: kill {' '.join(map(str, users))}; headrace down --force ends the broker all the same",
        )
    stopped = embedded.down(config)
    print("stopped" if stopped else "the embedded broker was not running")
    return 0
