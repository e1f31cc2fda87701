"""Cuts off streams of late events: the query that has their windows emits them, to a topic."""

from __future__ import annotations

from dataclasses import replace

from headrace.plan import checks
from headrace.plan.nodes import Aggregate, Cut, Node, Project, TooLate, Write, walk
from headrace.plan.rewrites.fold import fold


def rewrite(app: str, write: Write) -> tuple[Write, ...]:
    return (replace(write, node=fold(write.node, _cut_off)),)


def of(write: Write) -> TooLate | None:
    """The node of the late events, if the write is of them."""
    # A cut writes events with their time.
    timed = write.node
    return timed.input if write.internal and isinstance(timed, Project) and isinstance(timed.input, TooLate) else None


def computes(node: Node, late: TooLate) -> bool:
    """Whether the windows that these events missed are computed in the query of the node."""
    return any(
        each.late == "divert" and (each.input, each.window) == (late.input, late.window)
        for each in walk(node)
        if isinstance(each, Aggregate)
    )


def _cut_off(_: Node, node: Node) -> Node:
    return Cut(**checks.same(node, node.where), input=node) if isinstance(node, TooLate) else node
