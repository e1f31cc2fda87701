"""One model of the topology, drawn as text, Mermaid, JSON and HTML; metrics and errors use the same names."""

from __future__ import annotations

import hashlib
import html as escape
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from headrace.plan import durations
from headrace.plan.nodes import (
    Aggregate,
    Apply,
    AsTable,
    Changes,
    Cut,
    Dedupe,
    Explode,
    Filter,
    Join,
    KeyBy,
    Lookup,
    Merge,
    Node,
    Ours,
    Project,
    Read,
    TableAggregate,
    TableJoin,
    TooLate,
    inputs,
    walk,
)
from headrace.plan.queries import QuerySpec, clock_text, emit_text, pairs_text, state_shape, window_text


@dataclass(frozen=True, slots=True)
class Box:
    """A node as it is drawn. `id` comes from its content, so that it survives edits elsewhere."""

    id: str
    op: str
    text: str
    kind: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    inputs: tuple[str, ...]
    where: str


@dataclass(frozen=True, slots=True)
class Query:
    name: str
    mode: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    state: tuple[str, ...]
    node: str
    where: str
    alone: str | None = None
    """The sink that needs a query of its own, and so is not written by one that computes the same."""
    at_least_once: tuple[str, ...] = ()
    """What it writes to that may get a batch again after a crash."""
    again: tuple[tuple[str, str], ...] = ()
    """State that an earlier query keeps too, and the name of that query."""


@dataclass(frozen=True, slots=True)
class Topology:
    app: str
    boxes: tuple[Box, ...]
    queries: tuple[Query, ...]


def model(app: str, specs: Sequence[QuerySpec]) -> Topology:
    boxes: dict[str, Box] = {}
    ids: dict[int, str] = {}
    for spec in specs:
        for node in walk(spec.node):
            if id(node) not in ids:
                box = _box(node, tuple(ids[id(source)] for source in inputs(node)))
                boxes[box.id] = box
                ids[id(node)] = box.id
    drawn = [
        Query(
            name=spec.name,
            mode=spec.mode,
            reads=tuple(source.label for source in spec.sources),
            writes=spec.writes,
            state=spec.state,
            node=ids[id(spec.node)],
            where=_place(spec.where.file, spec.where.line),
            alone=next((sink.label for sink in spec.sinks if sink.alone), None),
            at_least_once=spec.at_least_once,
            again=_again(spec, specs[:number]),
        )
        for number, spec in enumerate(specs)
    ]
    return Topology(app, tuple(boxes.values()), tuple(drawn))


def _again(spec: QuerySpec, earlier: Sequence[QuerySpec]) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for node in walk(spec.node):
        shape = state_shape(node)
        other = next((other.name for other in earlier if shape in other.state and node in walk(other.node)), None)
        if shape is not None and other is not None:
            found[shape] = other
    return tuple(found.items())


def draw(topology: Topology, format: Literal["text", "mermaid", "json"]) -> str:
    match format:
        case "text":
            return text(topology)
        case "mermaid":
            return mermaid(topology)
        case "json":
            return json.dumps(asdict(topology), indent=2)


def text(topology: Topology) -> str:
    by_id = {box.id: box for box in topology.boxes}
    lines = [f"app {topology.app}"]
    for query in topology.queries:
        rows: list[tuple[str, str]] = []

        def visit(box: Box, rows: list[tuple[str, str]] = rows) -> int:
            depth = max((visit(by_id[source]) for source in box.inputs), default=-1) + 1
            rows.append(("  " * depth + ("└ " if depth else "") + f"{box.op} {box.text}".rstrip(), box.where))
            return depth

        depth = visit(by_id[query.node]) + 1
        rows.append(("  " * depth + f"└ to {', '.join(query.writes)}", query.where))
        width = max(len(left) for left, _ in rows)
        lines += ["", f"  query {query.name} ({query.mode})", *(f"    {left.ljust(width)}   {right}" for left, right in rows)]
        lines += [f"    keeps: {shape}" for shape in query.state]
        lines += [f"    keeps again: {shape}, as query {other} does" for shape, other in query.again]
        lines += [f"    at least once: {label}" for label in query.at_least_once]
        lines += [f"    a query of its own: {query.alone} needs one"] if query.alone else []
    return "\n".join(lines)


def mermaid(topology: Topology) -> str:
    def quote(label: str) -> str:
        return '"' + label.replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;") + '"'

    lines = ["flowchart LR"]
    for box in topology.boxes:
        label = quote(f"{box.op} {box.text}".strip())
        lines.append(f"  {box.id}[({label})]" if not box.inputs else f"  {box.id}[{label}]")
        lines += [f"  {source} --> {box.id}" for source in box.inputs]
    for query in topology.queries:
        for topic in query.writes:
            name = _digest("to", topic)
            lines += [f"  {name}[({quote('topic ' + topic)})]", f"  {query.node} -->|{quote(query.name)}| {name}"]
    return "\n".join(lines)


def html(topology: Topology) -> str:
    """For notebooks: the boxes of each query, from source to topic."""
    style = "border:1px solid #8aa;border-radius:6px;padding:4px 10px;margin:2px;display:inline-block;font:13px monospace"
    rows: list[str] = []
    by_id = {box.id: box for box in topology.boxes}
    for query in topology.queries:
        chain: list[str] = []

        def visit(box: Box, chain: list[str] = chain) -> None:
            for source in box.inputs:
                visit(by_id[source])
            label = escape.escape(f"{box.op} {box.text}".strip())
            chain.append(f'<span style="{style}" title="{escape.escape(box.where)}">{label}</span>')

        visit(by_id[query.node])
        chain += [
            f'<span style="{style};background:#eef6ff;color:#123">topic {escape.escape(topic)}</span>' for topic in query.writes
        ]
        rows.append(f"<div><b>{escape.escape(query.name)}</b> ({query.mode})<br>{' → '.join(chain)}</div>")
    return f"<div><h4>{escape.escape(topology.app)}</h4>{''.join(rows)}</div>"


def _box(node: Node, sources: tuple[str, ...]) -> Box:
    op, text = _words(node)
    return Box(
        id=_digest(op, text, *sources),
        op=op,
        text=text,
        kind=node.kind,
        columns=node.columns,
        key=node.key,
        inputs=sources,
        where=_place(node.where.file, node.where.line),
    )


def _words(node: Node) -> tuple[str, str]:
    match node:
        case Read():
            time = f", time {clock_text(node.clock)}" if node.clock is not Ours.LOG else ""
            late = f", lateness {durations.text(node.lateness)}" if node.lateness is not None else ""
            by = f", table by {', '.join(node.key)}" if node.kind == "table" else ""
            version = f", version {node.version}" if node.version else ""
            return node.source.noun, f"{node.label} ({node.format.name}{by}{version}{time}{late}{_silence(node.close_after)})"
        case Filter():
            return "where", node.condition
        case Project():
            kept = [name if expression in (name, f"`{name}`") else f"{expression} as {name}" for name, expression in node.items]
            return "select", ", ".join(kept)
        case Explode():
            return "explode", f"{node.expression} as {node.name}"
        case Apply():
            return "apply", getattr(node.function, "__name__", "function")
        case Merge():
            return "merge", ""
        case Join():
            return "join", f"{node.how} on {', '.join(node.on)} within {durations.text(node.within)}"
        case Dedupe():
            bound = f" within {durations.text(node.within)}" if node.within is not None else ""
            return "dedupe", ", ".join(node.by) + bound
        case KeyBy():
            return "key by", ", ".join(node.key)
        case AsTable():
            return "as table", f"by {', '.join(node.key)}" + (f", version {node.version}" if node.version else "")
        case Changes():
            return "changes", ""
        case Lookup():
            kept = f" for {durations.text(node.history)}" if node.as_of == "event_time" else ""
            return "join table", f"{node.how} on {pairs_text(node.on)} as of {node.as_of.replace('_', ' ')}{kept}"
        case TableJoin():
            return "join tables", f"{node.how} on {pairs_text(node.on)}"
        case TableAggregate():
            what = ", ".join(f"{expression} as {name}" for name, expression in node.aggregates)
            return "aggregate table", what + (f" by {', '.join(node.key)}" if node.key else "")
        case Cut():
            return "cut", ""
        case TooLate():
            return "late", f"for {window_text(node.window)}"
        case Aggregate():
            what = ", ".join(f"{expression} as {name}" for name, expression in node.aggregates)
            return (
                ("window", f"{window_text(node.window)}, emit {emit_text(node.emit)}{_silence(node.close_after)}: {what}")
                if node.window
                else ("aggregate", what)
            )


def _silence(close_after: int | None) -> str:
    return f", closed after {durations.text(close_after)} of silence" if close_after is not None else ""


def _digest(*parts: str) -> str:
    return "n" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]


def _place(file: str, line: int) -> str:
    return f"{file}:{line}"
