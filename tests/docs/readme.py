"""The blocks of a page, and the commands of the README, typed one after another."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Block(NamedTuple):
    language: str
    line: int
    text: str


def blocks(page: Path) -> Iterator[Block]:
    for fence in re.finditer(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        yield Block(fence[1], page.read_text()[: fence.start(2)].count("\n"), fence[2])


def does_what_it_says(folder: Path, port: int, python: str, environ: Mapping[str, str]) -> None:
    """In an environment that has headrace and pytest."""
    said = _typed(folder, port, _your_own(), python, environ)
    assert re.fullmatch(r"sent 4 records to clicks in [\d.]+ s\n", said["send"])
    assert "clicks-per-minute: 4 in, 3 out" in said["run"]
    values = re.findall(r"\{[^{}]*\"final\"[^{}]*\}", said["peek"])
    counts = {(row["page"], row["window_start"][11:16]): row["clicks"] for row in map(json.loads, values)}
    assert counts == {("/home", "10:00"): 2, ("/home", "10:01"): 1, ("/shop", "10:00"): 1}
    assert "1 passed" in said["pytest"]
    assert said["down"] == "stopped\n"


def _your_own() -> list[list[str]]:
    text = next(block.text for block in blocks(ROOT / "README.md") if "headrace new" in block.text)
    lines = [shlex.split(line, comments=True) for line in text.splitlines()]
    assert [words[0] for words in lines[:2]] == ["make", "."]
    return lines[2:]


def _typed(folder: Path, port: int, lines: list[list[str]], python: str, environ: Mapping[str, str]) -> dict[str, str]:
    """What each command said on stdout."""
    env = {
        name: value
        for name, value in environ.items()
        if not name.startswith(("HEADRACE_", "PYTEST_")) or name == "HEADRACE_CACHE"
    }
    env["HEADRACE_PORT"] = str(port)
    said: dict[str, str] = {}
    try:
        for words in lines:
            if words[0] == "cd":
                folder = folder / words[1]
                continue
            command = [python, "-m", *words]
            done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=200)
            assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}\n{done.stderr}"
            said[words[1] if words[0] == "headrace" else words[0]] = done.stdout
    finally:
        subprocess.run([python, "-m", "headrace", "down"], cwd=folder, env=env, capture_output=True)
    return said
