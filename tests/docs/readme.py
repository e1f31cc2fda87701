"""The blocks of a page, and the commands of the README, typed one after another."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
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


def computes_what_its_program_declares(folder: Path, port: int, python: str, environ: Mapping[str, str]) -> None:
    """The program at the top of the README, run over three trades as `headrace run` runs it."""
    project = folder / "market"
    project.mkdir()
    program = next(block.text for block in blocks(ROOT / "README.md") if block.language == "python")
    (project / "market.py").write_text(program)
    trades = [
        {"symbol": "A", "price": price, "qty": 1, "at": f"2024-01-01T10:00:0{n}Z"} for n, price in enumerate((10, 12, -1))
    ]
    (project / "trades.jsonl").write_text("".join(json.dumps(trade) + "\n" for trade in trades))
    commands = [
        "send trades trades.jsonl --key symbol --create",
        "run market.py --until now",
        "peek trade-stats --json",
        "down",
    ]
    said = _typed(project, port, [["headrace", *shlex.split(command)] for command in commands], python, environ)
    (row,) = (json.loads(line) for line in said["peek"].splitlines())
    stats = row["value"] if isinstance(row["value"], dict) else json.loads(row["value"])
    assert (stats["low"], stats["high"], stats["mean"], stats["trades"]) == (10.0, 12.0, 11.0, 2)
    with sqlite3.connect(project / "moves.db") as moves:
        assert moves.execute("SELECT symbol, high, low FROM moves").fetchall() == [("A", 12.0, 10.0)]


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
