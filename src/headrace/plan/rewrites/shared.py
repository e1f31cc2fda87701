"""Joins whose sides are both derived from one stream, row by row: the stream is read once for both."""

from __future__ import annotations

from dataclasses import replace

from headrace.plan import traits
from headrace.plan.nodes import Lookup, Node, Write, inputs
from headrace.plan.rewrites.fold import fold


def rewrite(app: str, write: Write) -> tuple[Write, ...]:
    return (replace(write, node=fold(write.node, _with_base)),)


def steps(node: Node, base: Node | None = None) -> tuple[Node, ...]:
    """The node and its inputs down to the base, as long as they are row by row; the last first."""
    found: list[Node] = []
    while node is not base and traits.of(node).row_by_row:
        found.append(node)
        (node,) = inputs(node)
    return tuple(found)


def _with_base(_: Node, node: Node) -> Node:
    return replace(node, base=_base(node)) if isinstance(node, Lookup) else node


def _base(node: Lookup) -> Node | None:
    """The first stream that both sides go through."""
    left = {id(step) for step in _path(node.stream)}
    return next((step for step in _path(node.table) if id(step) in left), None)


def _path(node: Node) -> tuple[Node, ...]:
    found = steps(node)
    return (*found, inputs(found[-1])[0]) if found else (node,)
