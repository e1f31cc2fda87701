"""The nodes of a plan. Each is a value: it knows its inputs, the columns it gives, its key, and the user's line.

`hidden` columns (`_time`, `_key`, …) can be used in expressions, travel along, and are not written. A node of kind
"stream" gives events; one of kind "table" gives the changes of the rows of each key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict

from headrace.errors import Where
from headrace.formats.json import Json
from headrace.formats.text import Text
from headrace.plan.clocks import Clock, Device, Moment, Ours
from headrace.plan.format import Format
from headrace.plan.sink import Sink
from headrace.plan.source import Source
from headrace.plan.sql.schema import Fields
from headrace.plan.windows import Emit, Late, Window

Kind = Literal["stream", "table"]
Bad = Literal["dead", "skip", "fail"]
How = Literal["inner", "left", "right", "full"]
AsOf = Literal["arrival", "event_time"]
Named = tuple[tuple[str, str], ...]
Pairs = tuple[tuple[str, str], ...]
"""Columns of the left and the columns of the right they are compared with."""

ADDED = {"added": True}
"""Marks a field that came later: as long as it has its default, internal topics keep their names (`digest`)."""

TIME = "_time"
CLOCK_OFFSET = "_clock_offset"
LOG_TIME = "_timestamp"
HEADERS = "_headers"
"""Of a record, from a source that has them."""
SOURCE_HIDDEN = (TIME, "_key", "_topic", "_partition", "_offset", LOG_TIME)


@dataclass(frozen=True, slots=True)
class Udf:
    """A Python function that expressions call by name; it runs on Arrow batches."""

    function: Callable[..., Any]
    returns: str
    name: str


@dataclass(frozen=True, kw_only=True)
class _Node:
    where: Where = field(compare=False)
    udfs: tuple[Udf, ...] = ()
    columns: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    kind: Kind = "stream"
    lateness: int | None = None


class Head(TypedDict):
    """What every node has, as the arguments of its class: `Filter(**head, …)`, in which a misspelt one is a type error."""

    where: Where
    udfs: tuple[Udf, ...]
    columns: tuple[str, ...]
    hidden: tuple[str, ...]
    key: tuple[str, ...]
    kind: Kind
    lateness: int | None


class Changed(TypedDict, total=False):
    """What a node does not pass on as it is."""

    columns: tuple[str, ...]
    hidden: tuple[str, ...]
    key: tuple[str, ...]
    kind: Kind


@dataclass(frozen=True, kw_only=True)
class Read(_Node):
    """Records of a source. Of kind "table": the newest row of each key, by `version` (a column) or by the order of the log."""

    source: Source
    format: Format
    fields: Fields
    clock: Clock
    bad: Bad
    version: str | None = None
    max_ahead: int | None = None
    idle_after: int | None = None
    close_after: int | None = None
    key_format: Format = field(default=Text(), metadata=ADDED)
    origin: Node | None = None
    """What writes the topic, if it is one between the parts of an application; its fields come from there."""

    @property
    def label(self) -> str:
        return self.source.label

    @property
    def by_log(self) -> bool:
        """Whether its times come from the log's own clock: a timestamp that a producer set is no substitute."""
        return self.clock is Ours.APPEND or (isinstance(self.clock, Device) and self.clock.received is None)

    @property
    def time(self) -> str | None:
        """The column that is the event's time as it stands: a timestamp."""
        if not isinstance(self.clock, Moment) or dict(self.fields).get(self.clock.column, "timestamp").startswith("string"):
            return None
        return self.clock.column if self.clock.unit is None else None


@dataclass(frozen=True, kw_only=True)
class _Over(_Node):
    """A node with one input."""

    input: Node


@dataclass(frozen=True, kw_only=True)
class Filter(_Over):
    condition: str


@dataclass(frozen=True, kw_only=True)
class Project(_Over):
    items: Named


@dataclass(frozen=True, kw_only=True)
class Explode(_Over):
    name: str
    expression: str


@dataclass(frozen=True, kw_only=True)
class Apply(_Over):
    function: Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class Merge(_Node):
    inputs: tuple[Node, ...]


@dataclass(frozen=True, kw_only=True)
class Dedupe(_Over):
    by: tuple[str, ...]
    within: int | None


@dataclass(frozen=True, kw_only=True)
class KeyBy(_Over):
    """The key of what follows."""


@dataclass(frozen=True, kw_only=True)
class Aggregate(_Over):
    aggregates: Named
    window: Window | None
    emit: Emit
    late: Late = "drop"
    close_after: int | None = field(default=None, metadata=ADDED)
    """The silence that closes the window, if it has one of its own."""

    @property
    def native(self) -> bool:
        """Whether Spark's own operator does it; else one of the kernel's."""
        kind = None if self.window is None else self.window.kind
        return (
            self.emit in ("updates", "final")
            and kind not in ("sliding", "cumulating")
            and not (kind == "session" and self.emit != "final")
        )


@dataclass(frozen=True, kw_only=True)
class TooLate(_Over):
    """The events that came too late for windows of an aggregate, once for each window."""

    window: Window


@dataclass(frozen=True, kw_only=True)
class Join(_Node):
    """Events of two streams with the same key whose times are at most `within` apart."""

    left: Node
    right: Node
    on: tuple[str, ...]
    within: int
    how: How


@dataclass(frozen=True, kw_only=True)
class AsTable(_Over):
    """The newest event of each key, by `version` (a column) or by time."""

    version: str | None


@dataclass(frozen=True, kw_only=True)
class Changes(_Over):
    """A table's changes as events: the key, op, before, after."""


@dataclass(frozen=True, kw_only=True)
class Lookup(_Node):
    """Events of a stream with the row of a table that has their key. `history`: how long its versions are kept."""

    stream: Node
    table: Node
    on: Pairs
    how: How
    as_of: AsOf
    history: int
    with_version: bool
    base: Node | None = field(default=None, compare=False, metadata=ADDED)
    """What both sides are derived from, one row of each at a time: it is read once for both."""


@dataclass(frozen=True, kw_only=True)
class TableJoin(_Node):
    """Rows of two tables that are equal in some columns. `by` says what identifies a row of the result."""

    left: Node
    right: Node
    on: Pairs
    how: How
    by: Literal["key", "left", "both"]


@dataclass(frozen=True, kw_only=True)
class TableAggregate(_Over):
    """Aggregates over the rows of a table that are equal in the key's columns."""

    aggregates: Named


@dataclass(frozen=True, kw_only=True)
class Cut(_Over):
    """Goes through a topic of its own, because Spark can't go on in the same query."""


Node = (
    Read
    | Filter
    | Project
    | Explode
    | Apply
    | Merge
    | Dedupe
    | KeyBy
    | Aggregate
    | TooLate
    | Join
    | AsTable
    | Changes
    | Lookup
    | TableJoin
    | TableAggregate
    | Cut
)


Delivery = Literal["exactly_once", "at_least_once"]


@dataclass(frozen=True, kw_only=True)
class Write:
    """A node and where its rows go: a topic or a sink; `name` names the query and its state."""

    node: Node
    to: str | Sink
    name: str
    named: bool
    where: Where = field(compare=False)
    internal: bool = False
    delivery: Delivery = "exactly_once"
    format: Format = field(default=Json())
    key_format: Format = field(default=Text())
    headers: Named = ()
    """Names and expressions, of the records."""

    @property
    def label(self) -> str:
        return self.to if isinstance(self.to, str) else self.to.label


def inputs(node: Node) -> tuple[Node, ...]:
    match node:
        case Read():
            return ()
        case Merge():
            return node.inputs
        case Join() | TableJoin():
            return (node.left, node.right)
        case Lookup():
            return (node.stream, node.table)
        case _Over():
            return (node.input,)


def over(node: Node, sources: Sequence[Node]) -> Node:
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
        case _Over():
            return replace(node, input=sources[0])


def query(node: Node) -> tuple[Node, ...]:
    """As `walk`, up to where it is cut off from what comes before."""
    return walk(node, beyond=False)


def walk(node: Node, *, beyond: bool = True) -> tuple[Node, ...]:
    """The node and all it rests on, inputs first, each once."""
    seen: dict[int, Node] = {}

    def visit(current: Node) -> None:
        if id(current) not in seen:
            for source in inputs(current) if beyond or not isinstance(current, Cut) else ():
                visit(source)
            seen[id(current)] = current

    visit(node)
    return tuple(seen.values())


def reads(node: Node) -> tuple[Read, ...]:
    """The sources it rests on."""
    return tuple(each for each in walk(node) if isinstance(each, Read))
