"""Where Spark can't go on in one query, the plan is cut: one part writes a topic of the application, the next reads it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import Field, fields, is_dataclass, replace
from typing import Any, cast

from headrace.formats.json import Json
from headrace.plan import checks, silence
from headrace.plan.callsite import CallSite
from headrace.plan.nodes import (
    TIME,
    Aggregate,
    Cut,
    Join,
    Lookup,
    Merge,
    Moment,
    Node,
    Ours,
    Project,
    Read,
    TableJoin,
    TooLate,
    Write,
    inputs,
)
from headrace.plan.schema import quoted
from headrace.sources.kafka import Kafka

EVENT_TIME = "_event_time"


def changing(node: Node, site: CallSite) -> Node:
    """The table as changes that know what was before. What Spark aggregates does not, and nothing of Spark's can follow it."""
    below = node
    while isinstance(below, Project):
        below = below.input
    return cut(node, site) if isinstance(below, Aggregate) and below.kind == "table" else node


def cut(node: Node, site: CallSite) -> Cut:
    return Cut(**checks.same(node, site, hidden=(TIME,)), input=node)


def apart(nodes: Sequence[Node], site: CallSite, *also: int | None) -> tuple[Node, ...]:
    """Nodes that can be in one query: if different silences close them, and what is `also` to come, they are cut off."""
    silences = {*(silence.of(each) for node in nodes for each in silence.waiting(node)), *also}
    if len(silences) < 2:
        return tuple(nodes)
    return tuple(cut(node, site) if silence.waiting(node) else node for node in nodes)


def uncut(app: str, write: Write) -> tuple[Write, ...]:
    """A write and, before it, one for each topic that its parts meet in."""
    writes: dict[str, Write] = {}
    read: dict[str, Read] = {}
    done: dict[int, Node] = {}

    def visit(node: Node) -> Node:
        if id(node) not in done:
            sources = [visit(source) for source in inputs(node)]
            match node:
                case Cut():
                    done[id(node)] = _through(app, node, sources[0], writes, read)
                case TooLate():
                    done[id(node)] = _through(app, node, _with(node, sources), writes, read)
                case _:
                    done[id(node)] = _with(node, sources)
        return done[id(node)]

    end = visit(write.node)
    return (*writes.values(), replace(write, node=end))


def _through(app: str, cut: Cut | TooLate, before: Node, writes: dict[str, Write], read: dict[str, Read]) -> Read:
    """The topic in place of the cut; what comes before writes it, its events with their time. A query reads it once."""
    topic = f"headrace.{app}.{_digest(before)}"
    if topic in read:
        return read[topic]
    if before.kind == "stream":
        kept = tuple((name, quoted(name)) for name in before.columns)
        columns = (*before.columns, EVENT_TIME)
        before = Project(**_fields(before, columns=columns), input=before, items=(*kept, (EVENT_TIME, TIME)))
    writes[topic] = Write(node=before, to=topic, name=topic, named=False, where=cut.where, internal=True)
    read[topic] = Read(
        **_fields(cut),
        source=Kafka(topics=(topic,)),
        format=Json(),
        fields=(),
        clock=Moment(EVENT_TIME) if cut.kind == "stream" else Ours.LOG,
        bad="fail",
        close_after=silence.of_streams(cut),
        origin=before,
    )
    return read[topic]


def _with(node: Node, sources: list[Node]) -> Node:
    """The node over other inputs; itself, if they are the same."""
    if all(new is old for new, old in zip(sources, inputs(node), strict=True)):
        return node
    match node:
        case Read():
            return node
        case Merge():
            return replace(node, inputs=tuple(sources))
        case Join() | TableJoin():
            return replace(node, left=sources[0], right=sources[1])
        case Lookup():
            return replace(node, stream=sources[0], table=sources[1])
        case _:
            return replace(node, input=sources[0])


def _fields(node: Node, **changed: Any) -> dict[str, Any]:
    names = ("where", "columns", "hidden", "key", "kind", "lateness")
    return {**{name: getattr(node, name) for name in names}, **changed}


def _digest(node: Node) -> str:
    """From the content, so that it survives edits elsewhere; lines and the addresses of functions are no part of it."""
    return hashlib.sha256(_text(node).encode()).hexdigest()[:12]


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "(" + ",".join(map(_text, cast("tuple[Any, ...]", value))) + ")"
    if isinstance(value, Read):
        return "Source" + _text(tuple(_read(value)))
    if is_dataclass(value):
        return type(value).__name__ + _text(tuple(getattr(value, part.name) for part in fields(value) if _told(value, part)))
    return getattr(value, "__name__", None) or repr(value)


def _read(node: Read) -> Iterator[Any]:
    """As it was when it had a topic and a start instead of a source."""
    read, start = node.source.known_as
    for part in fields(node):
        if part.name == "source":
            yield read
        elif part.name == "format":
            yield node.format.name
        elif _told(node, part):
            yield getattr(node, part.name)
        if part.name == "bad":
            yield start


def _told(value: Any, part: Field[Any]) -> bool:
    return part.name != "where" and not ("added" in part.metadata and getattr(value, part.name) == part.default)
