"""Creates a project: an application that runs, sample data, and a test."""

from __future__ import annotations

import argparse
from importlib import resources
from pathlib import Path

from headrace.errors import ConfigError, Where
from headrace.plan import checks


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="the project's folder, and the application's name")


def run(args: argparse.Namespace) -> int:
    folder = Path(args.name)
    checks.name(folder.name, "project", Where(f"headrace new {args.name}", 1))
    if folder.exists():
        raise ConfigError(f"{folder} exists already", fix="choose another name")
    folder.mkdir(parents=True)
    for template in sorted(resources.files("headrace.cli").joinpath("template").iterdir(), key=lambda file: file.name):
        text = template.read_text().replace("APP_FOLDER", str(folder)).replace("APP_NAME", folder.name)
        (folder / template.name.removesuffix(".txt")).write_text(text)
    print(f"{folder}/ is ready. Now type:\n")
    print((folder / "README.md").read_text().split("```")[1].strip().removeprefix("sh\n"))
    return 0
