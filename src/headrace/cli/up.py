"""Starts the embedded broker of this project, or finds it running, and prints its address.

It keeps running until `headrace down`. Its data is in .headrace/broker of the project.
"""

from __future__ import annotations

import argparse

from headrace.broker import connect
from headrace.cli import flags


def arguments(parser: argparse.ArgumentParser) -> None:
    flags.setting(parser, "broker", "port", "broker_auth", "broker_memory")


def run(args: argparse.Namespace) -> int:
    config = flags.config(args)
    address = connect.resolve(config)
    if config.embedded:
        print(address)
    else:
        print(f"{address} answers; it is set by {config.origins['broker']}, so there is nothing to start")
    return 0
