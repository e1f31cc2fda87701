"""A node's content in few characters: the names of internal topics, which must never change for a program that runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import Field, fields, is_dataclass
from typing import Any, cast

from headrace.plan.nodes import Node, Read


def of(node: Node) -> str:
    """From the content, so that it survives edits elsewhere; lines and the addresses of functions are no part of it."""
    return hashlib.sha256(_text(node).encode()).hexdigest()[:12]


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "(" + ",".join(map(_text, cast("tuple[Any, ...]", value))) + ")"
    if isinstance(value, Read):
        return "Source" + _text(tuple(_read(value)))
    if is_dataclass(value):
        return type(value).__name__ + _text(tuple(getattr(value, part.name) for part in fields(value) if _counts(value, part)))
    return getattr(value, "__name__", None) or repr(value)


def _read(node: Read) -> Iterator[Any]:
    """As it was when it had a topic and a start instead of a source."""
    read, start = node.source.known_as
    for part in fields(node):
        if part.name == "source":
            yield read
        elif part.name == "format":
            yield node.format.name
        elif _counts(node, part):
            yield getattr(node, part.name)
        if part.name == "bad":
            yield start


def _counts(value: Any, part: Field[Any]) -> bool:
    return part.name != "where" and not ("added" in part.metadata and getattr(value, part.name) == part.default)
