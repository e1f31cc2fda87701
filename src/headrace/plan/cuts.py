"""Where Spark can't go on in one query, the plan is cut: one part writes a topic of the application, the next reads it."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.plan import checks, silence, traits
from headrace.plan.callsite import CallSite
from headrace.plan.nodes import TIME, Cut, Node


def changing(node: Node, site: CallSite) -> Node:
    """The table as changes that know what was before. What Spark aggregates does not, and nothing of Spark's can follow it."""
    return cut(node, site) if traits.rows(node) == "replaced" else node


def cut(node: Node, site: CallSite) -> Cut:
    return Cut(**checks.same(node, site.where, hidden=(TIME,)), input=node)


def apart(nodes: Sequence[Node], site: CallSite, *also: int | None) -> tuple[Node, ...]:
    """Nodes that can be in one query: if different silences close them, and what is `also` to come, they are cut off."""
    silences = {*(silence.of(each) for node in nodes for each in silence.waiting(node)), *also}
    if len(silences) < 2:
        return tuple(nodes)
    return tuple(cut(node, site) if silence.waiting(node) else node for node in nodes)
