"""Where Spark can't go on in one query, the plan is cut: the first part writes a topic of the application, the second reads it."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from headrace.plan import checks
from headrace.plan.callsite import CallSite
from headrace.plan.nodes import TIME, Aggregate, Cut, Join, Lookup, Merge, Node, Project, Source, TableJoin, Write, inputs
from headrace.plan.schema import quoted

EVENT_TIME = "_event_time"


def changing(node: Node, site: CallSite) -> Node:
    """The table as changes that know what was before. What Spark aggregates does not, and nothing of Spark's can follow it."""
    below = node
    while isinstance(below, Project):
        below = below.input
    return cut(node, site) if isinstance(below, Aggregate) and below.kind == "table" else node


def cut(node: Node, site: CallSite) -> Cut:
    return Cut(**checks.same(node, site, hidden=(TIME,)), input=node)


def uncut(app: str, write: Write) -> tuple[Write, ...]:
    """A write and, before it, one for each topic that its parts meet in."""
    writes: dict[str, Write] = {}
    done: dict[int, Node] = {}

    def visit(node: Node) -> Node:
        if id(node) not in done:
            done[id(node)] = _joined(node, writes, app) if isinstance(node, Cut) else _with(node, [visit(n) for n in inputs(node)])
        return done[id(node)]

    def _joined(node: Cut, writes: dict[str, Write], app: str) -> Source:
        before = visit(node.input)
        topic = f"headrace.{app}.{_digest(before)}"
        if before.kind == "stream":
            kept = tuple((name, quoted(name)) for name in before.columns)
            columns = (*before.columns, EVENT_TIME)
            before = Project(**_fields(before, columns=columns), input=before, items=(*kept, (EVENT_TIME, TIME)))
        writes[topic] = Write(node=before, topic=topic, name=topic, named=False, where=node.where)
        return Source(
            **_fields(node, udfs=()),
            topic=topic,
            format="json",
            fields=(),
            time=EVENT_TIME if node.kind == "stream" else None,
            bad="fail",
            start="earliest",
            origin=before,
        )

    end = visit(write.node)
    return (*writes.values(), replace(write, node=end))


def _with(node: Node, sources: list[Node]) -> Node:
    """The node over other inputs; itself, if they are the same."""
    if all(new is old for new, old in zip(sources, inputs(node), strict=True)):
        return node
    match node:
        case Source():
            return node
        case Merge():
            return replace(node, inputs=tuple(sources))
        case Join() | TableJoin():
            return replace(node, left=sources[0], right=sources[1])
        case Lookup():
            return replace(node, stream=sources[0], table=sources[1])
        case _:
            return replace(node, input=sources[0])


def _fields(node: Node, **changed: object) -> dict[str, object]:
    same = {name: getattr(node, name) for name in ("where", "udfs", "columns", "hidden", "key", "kind", "lateness")}
    return {**same, **changed}


def _digest(node: Node) -> str:
    """From the content, so that it survives edits elsewhere; `where` and functions' addresses are not part of it."""

    def text(value: object) -> str:
        if isinstance(value, tuple):
            return "(" + ",".join(text(item) for item in value) + ")"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if hasattr(value, "__dataclass_fields__"):
            names = [name for name in value.__dataclass_fields__ if name != "where"]  # pyright: ignore
            return type(value).__name__ + text(tuple(text(getattr(value, name)) for name in names))
        return getattr(value, "__name__", None) or repr(value)

    return hashlib.sha256(text(node).encode()).hexdigest()[:12]
