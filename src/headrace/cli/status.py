"""Shows which broker this project uses and whether it answers. The exit code is 0 if it does, otherwise 1."""

from __future__ import annotations

import argparse
import time
from datetime import timedelta
from typing import Any

from headrace.broker import connect, embedded, topics
from headrace.cli import columns, flags
from headrace.config import Config
from headrace.errors import BrokerError


def arguments(parser: argparse.ArgumentParser) -> None:
    flags.setting(parser, "broker")
    flags.json(parser)


def run(args: argparse.Namespace) -> int:
    config = flags.config(args)
    shown = facts(config)
    if args.json:
        columns.show([shown], as_json=True)
    else:
        columns.show([{"what": name, "is": value} for name, value in shown.items() if value is not None], as_json=False)
    return 0 if shown["answers"] else 1


def facts(config: Config) -> dict[str, Any]:
    node = embedded.status(config) if config.embedded else None
    address = node.address if node else config.broker
    connection = config.connection(address) if address else None
    try:
        if connection:
            connect.require(connection, config.origins["broker"])
        answers = connection is not None
    except BrokerError:
        answers = False
    return {
        "broker": config.broker,
        "set_by": config.origins["broker"],
        "address": address,
        "answers": answers,
        "topics": len(topics.names(connection)) if connection and answers else None,
        "pid": node.pid if node else None,
        "up_for": str(timedelta(seconds=int(time.time() - node.started))) if node and node.started else None,
        "log": node.log if node else None,
        "project": str(config.root),
        "state": config.state,
        "master": config.master,
    }
