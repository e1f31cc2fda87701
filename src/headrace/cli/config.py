"""Shows every setting and where it came from: a flag, the environment, headrace.toml or the default. Secrets are masked."""

from __future__ import annotations

import argparse

from headrace.cli import columns, flags
from headrace.config import SETTINGS


def arguments(parser: argparse.ArgumentParser) -> None:
    flags.setting(parser, *SETTINGS)
    flags.json(parser)


def run(args: argparse.Namespace) -> int:
    config = flags.config(args)
    rows = [{"setting": s.name, "value": s.value, "from": s.origin} for s in config.settings()]
    columns.show(rows, as_json=args.json)
    return 0
