"""What comes from elsewhere does nothing to a terminal."""

from __future__ import annotations

import json

import pytest

from headrace.errors import RunError
from headrace.printable import LINES, json_line, printable

EVIL = "\x1b]0;owned\x07\x9b2J\r\u202e\u2028\u200b\ud800\x00"


def test_controls_are_escapes_and_all_else_stays() -> None:
    assert printable("Äpfel, 東京, 😀 {}") == "Äpfel, 東京, 😀 {}"
    assert printable("a\tb\nc") == r"a\tb\nc"
    assert printable("a\tb\nc\x1b", keep=LINES) == "a\tb\nc\\x1b"
    assert printable(EVIL).isprintable()


def test_a_line_of_json_is_the_same_value_and_printable() -> None:
    value = {"Ä": EVIL, "n": [1, None, "😀"]}
    line = json_line(value)
    assert line.isprintable()
    assert json.loads(line) == value
    assert "Ä" in line
    assert "😀" in line


@pytest.mark.parametrize("part", ["message", "fix"])
def test_an_error_is_lines_of_printable_text(part: str) -> None:
    error = RunError(EVIL, fix="wait") if part == "message" else RunError("broken", fix=EVIL)
    assert all(line.isprintable() for line in str(error).split("\n"))
    assert len(str(error).split("\n")) == 2
