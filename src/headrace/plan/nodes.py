"""The nodes of a plan. Each is a value: it knows its inputs, the columns it gives, its key, and the user's line.

`hidden` columns (`_time`, `_key`, …) can be used in expressions, travel along, and are not written. A node of kind
"stream" gives events; one of kind "table" gives the newest row of each key whenever it changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from headrace.errors import Where
from headrace.plan.schema import Fields

Kind = Literal["stream", "table"]
Emit = Literal["updates", "final"]
Bad = Literal["fail", "skip"]
How = Literal["inner", "left", "right", "full"]
Format = Literal["json", "text", "bytes"]
Named = tuple[tuple[str, str], ...]

TIME = "_time"
SOURCE_HIDDEN = (TIME, "_key", "_topic", "_partition", "_offset", "_timestamp")


@dataclass(frozen=True, slots=True)
class Udf:
    """A Python function that expressions call by name; it runs on Arrow batches."""

    function: Callable[..., Any]
    returns: str
    name: str


@dataclass(frozen=True, slots=True)
class Window:
    """Times in microseconds. Tumbling: every == size; hopping: any other `every`; session: gap only."""

    kind: Literal["tumbling", "hopping", "session"]
    size: int
    every: int
    offset: int = 0


@dataclass(frozen=True, kw_only=True)
class _Node:
    where: Where = field(compare=False)
    udfs: tuple[Udf, ...] = ()
    columns: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    kind: Kind = "stream"
    lateness: int | None = None


@dataclass(frozen=True, kw_only=True)
class Source(_Node):
    topic: str
    format: Format
    fields: Fields
    time: str | None
    bad: Bad
    start: Literal["earliest", "latest"]


@dataclass(frozen=True, kw_only=True)
class Filter(_Node):
    input: Node
    condition: str


@dataclass(frozen=True, kw_only=True)
class Project(_Node):
    input: Node
    items: Named


@dataclass(frozen=True, kw_only=True)
class Explode(_Node):
    input: Node
    name: str
    expression: str


@dataclass(frozen=True, kw_only=True)
class Apply(_Node):
    input: Node
    function: Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class Merge(_Node):
    inputs: tuple[Node, ...]


@dataclass(frozen=True, kw_only=True)
class Dedupe(_Node):
    input: Node
    by: tuple[str, ...]
    within: int | None


@dataclass(frozen=True, kw_only=True)
class KeyBy(_Node):
    input: Node


@dataclass(frozen=True, kw_only=True)
class Aggregate(_Node):
    input: Node
    aggregates: Named
    window: Window | None
    emit: Emit


@dataclass(frozen=True, kw_only=True)
class Join(_Node):
    """Events of two streams with the same key whose times are at most `within` apart."""

    left: Node
    right: Node
    on: tuple[str, ...]
    within: int
    how: How


Node = Source | Filter | Project | Explode | Apply | Merge | Dedupe | KeyBy | Aggregate | Join


@dataclass(frozen=True, kw_only=True)
class Write:
    """A node and the topic its rows go to; `name` names the query and its state."""

    node: Node
    topic: str
    name: str
    named: bool
    where: Where = field(compare=False)


def inputs(node: Node) -> tuple[Node, ...]:
    match node:
        case Source():
            return ()
        case Merge():
            return node.inputs
        case Join():
            return (node.left, node.right)
        case Filter() | Project() | Explode() | Apply() | Dedupe() | KeyBy() | Aggregate():
            return (node.input,)


def walk(node: Node) -> tuple[Node, ...]:
    """The node and all it rests on, inputs first, each once."""
    seen: dict[int, Node] = {}

    def visit(current: Node) -> None:
        if id(current) not in seen:
            for source in inputs(current):
                visit(source)
            seen[id(current)] = current

    visit(node)
    return tuple(seen.values())
