"""Rows for people in columns, rows for programs as JSON lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.printable import json_line, printable


def show(rows: Sequence[Mapping[str, Any]], *, as_json: bool, empty: str = "nothing to show") -> None:
    """Rows of the same fields; the fields' names are the headings."""
    if as_json:
        for row in rows:
            print(json_line(row))
        return
    if not rows:
        print(empty)
        return
    names = list(rows[0])
    cells = [[name.upper().replace("_", " ") for name in names], *([_cell(row[name]) for name in names] for row in rows)]
    numeric = [all(isinstance(row[name], int | float) for row in rows) for name in names]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    for line in cells:
        padded = (cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(line, widths, numeric, strict=True))
        print("  ".join(padded).rstrip())


def _cell(value: object) -> str:
    return "-" if value is None else printable(str(value))
