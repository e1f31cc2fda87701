"""Small text tables and short times, so that a test shows what happens when."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from headrace.errors import PlanError
from headrace.plan.callsite import call_site
from headrace.plan.sql import schema
from headrace.plan.sql.types import article

_DAY = "2024-01-01"
_RULE = re.compile(r"^[\s|+:-]*-[\s|+:-]*$")

Row = dict[str, Any]


def at(text: str | datetime) -> datetime:
    """A time in UTC: "10:00:05" is on the first of January 2024, "2024-02-03 10:00:05" on its own day."""
    if isinstance(text, datetime):
        return text if text.tzinfo else text.replace(tzinfo=UTC)
    if re.fullmatch(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?", text):
        text = f"{_DAY} {text.zfill(5) if text.count(':') == 1 else text}"
        text = re.sub(r" (\d):", r" 0\1:", text)
    value = datetime.fromisoformat(text)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def parse(table: str, types: dict[str, str]) -> list[list[Row]]:
    """The rows of a text table, in batches: a line of dashes below the first row ends one.

    at       | symbol | price
    10:00:01 | A      | 10.5
    """
    lines = [line.strip() for line in table.strip().splitlines() if line.strip()]
    if not lines:
        return [[]]
    header = [cell.strip() for cell in lines[0].strip("|").split("|")]
    batches: list[list[Row]] = [[]]
    for number, line in enumerate(lines[1:]):
        if _RULE.match(line):
            if number > 0:
                batches.append([])
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != len(header):
            raise PlanError(f"{len(header)} columns, but {len(cells)} cells in: {line}", where=call_site().where)
        batches[-1].append(
            {name: _typed(name, cell, types.get(name, "string")) for name, cell in zip(header, cells, strict=True)}
        )
    return batches


def _typed(name: str, text: str, kind: str) -> Any:
    try:
        return _cell(text, kind)
    except ValueError as e:
        raise PlanError(f"{text!r} in the column {name!r} is not {article(kind)} {kind}", where=call_site().where) from e


def _cell(text: str, kind: str) -> Any:
    kind = schema.plain(kind)
    if text in ("", "null"):
        return None
    if kind in ("tinyint", "smallint", "int", "integer", "bigint", "long", "short", "byte"):
        return int(text)
    if kind in ("float", "double", "real"):
        return float(text)
    if kind == "boolean":
        return text.lower() == "true"
    if kind.startswith("timestamp"):
        return at(text)
    if kind.startswith(("array", "map", "struct")):
        return json.loads(text)
    return text
