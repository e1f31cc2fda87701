"""Templates: text with columns in braces, "{symbol} moved by {change}". Nothing but plain names; {{ and }} are braces."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from headrace.errors import PlanError, Where

_TOKEN = re.compile(r"(?P<text>[^{}]+)|(?P<brace>\{\{|\}\})|\{(?P<column>[^\W\d]\w*)\}|(?P<wrong>[{}][^{}]*\}?)")


class Part(NamedTuple):
    """A piece of text, and the column whose value follows it; the last piece may have none."""

    text: str
    column: str | None


@lru_cache(maxsize=1024)
def parts(template: str) -> tuple[Part, ...]:
    """The template in pieces; ValueError with the piece that is wrong."""
    found: list[Part] = []
    text = ""
    for token in _TOKEN.finditer(template):
        if token["wrong"]:
            raise ValueError(token["wrong"])
        if token["column"]:
            found.append(Part(text, token["column"]))
            text = ""
        else:
            text += token["text"] or token["brace"][0]
    return (*found, Part(text, None)) if text else tuple(found)


def template_columns(template: str) -> tuple[str, ...]:
    """The columns that a template names, each once."""
    return tuple(dict.fromkeys(part.column for part in parts(template) if part.column is not None))


def render(template: str, values: Mapping[str, Any]) -> str:
    """The text for one row; a value that is null is an empty text. KeyError if the row lacks a column."""
    return "".join(part.text + ("" if part.column is None else shown(values[part.column])) for part in parts(template))


def shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def checked(template: object, what: str, where: Where) -> str:
    """The argument `what`, which must be a template."""
    if not isinstance(template, str) or not template.strip():
        raise PlanError(f"{what}={template!r} is not text", where=where, fix=f'write {what}="… {{column}} …"')
    try:
        parts(template)
    except ValueError as e:
        raise PlanError(
            f"{what}= has {e} in it, which is not a column in braces",
            where=where,
            fix="braces hold the plain name of a column, {symbol}; compute the rest with with_columns; {{ is a brace",
        ) from None
    return template
