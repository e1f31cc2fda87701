"""Walks a plan for a rule: inputs first, each node once, so that a shared node stays shared."""

from __future__ import annotations

from collections.abc import Callable

from headrace.plan.nodes import Node, inputs, over


def fold(end: Node, change: Callable[[Node, Node], Node]) -> Node:
    """`change` takes a node as it was, and the same node over its new inputs."""
    done: dict[int, Node] = {}

    def visit(node: Node) -> Node:
        if id(node) not in done:
            done[id(node)] = change(node, over(node, [visit(source) for source in inputs(node)]))
        return done[id(node)]

    return visit(end)
