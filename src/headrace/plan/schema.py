"""Schemas as Spark DDL text ("symbol string, price double"), split into names and types without Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping

from headrace.errors import PlanError, Where

Fields = tuple[tuple[str, str], ...]
Schema = str | Mapping[str, str]

EXAMPLE = 'schema="symbol string, price double, at timestamp"'
NOT_NULL = " NOT NULL"
_FIELD = re.compile(r"^\s*(`(?:[^`]|``)+`|\w+)\s*:?\s*(.+?)\s*$", re.DOTALL)
_TAIL = re.compile(r"\s+(comment\s+'.*'|comment\s+\".*\"|default\s+.*)$", re.IGNORECASE | re.DOTALL)


def parse(schema: Schema, where: Where) -> Fields:
    if not isinstance(schema, str):
        return _checked(tuple((name, kind) for name, kind in schema.items()), where)
    fields: list[tuple[str, str]] = []
    for part in _split(schema):
        match = _FIELD.match(part)
        if match is None:
            raise PlanError(
                f"the schema has a field without a type: {part.strip()!r}", where=where, fix=f"write it like {EXAMPLE}"
            )
        name = match[1][1:-1].replace("``", "`") if match[1].startswith("`") else match[1]
        kind = match[2]
        while tail := _TAIL.search(kind):
            kind = kind[: tail.start()]
        fields.append((name, re.sub(r" not null$", NOT_NULL, " ".join(kind.split()), flags=re.IGNORECASE)))
    return _checked(tuple(fields), where)


def plain(kind: str) -> str:
    """The type alone, in lower case, without NOT NULL."""
    return kind.removesuffix(NOT_NULL).lower()


def ddl(fields: Fields) -> str:
    return ", ".join(f"{quoted(name)} {kind}" for name, kind in fields)


def quoted(name: str) -> str:
    """Always in backticks: `true` and `null` are names too."""
    return "`" + name.replace("`", "``") + "`"


def _split(text: str) -> list[str]:
    """At the commas outside of <>, () and quotes."""
    parts: list[str] = []
    depth, quote, start = 0, "", 0
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "`'\"":
            quote = char
        elif char in "<(":
            depth += 1
        elif char in ">)":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part for part in parts if part.strip()]


def _checked(fields: Fields, where: Where) -> Fields:
    if not fields:
        raise PlanError("the schema is empty", where=where, fix=f"write it like {EXAMPLE}")
    seen: set[str] = set()
    for name, _ in fields:
        if name.startswith("_"):
            raise PlanError(
                f"the schema's field {name!r} begins with an underscore, which is kept for Headrace's own columns", where=where
            )
        if name.lower() in seen:
            raise PlanError(f"the schema has the field {name!r} twice", where=where)
        seen.add(name.lower())
    return fields
