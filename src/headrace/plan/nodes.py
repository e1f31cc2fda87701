"""The nodes of a plan. Each is a value: it knows its inputs, the columns it gives, its key, and the user's line.

`hidden` columns (`_time`, `_key`, …) can be used in expressions, travel along, and are not written. A node of kind
"stream" gives events; one of kind "table" gives the changes of the rows of each key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

from headrace.errors import Where
from headrace.formats.json import Json
from headrace.formats.text import Text
from headrace.plan.format import Format
from headrace.plan.schema import Fields
from headrace.plan.sink import Sink

Kind = Literal["stream", "table"]
Late = Literal["drop", "divert", "fail"]
Unit = Literal["seconds", "millis", "micros"]
Bad = Literal["dead", "skip", "fail"]
How = Literal["inner", "left", "right", "full"]
AsOf = Literal["arrival", "event_time"]
Named = tuple[tuple[str, str], ...]
Pairs = tuple[tuple[str, str], ...]
"""Columns of the left and the columns of the right they are compared with."""

ADDED = {"added": True}
"""Marks a field that came later: as long as it has its default, internal topics keep their names (`cuts`)."""

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


@dataclass(frozen=True, slots=True)
class Window:
    """Times in microseconds. Tumbling: every == size; hopping: any other `every`; session: `size` is the gap.

    Calendar windows have a unit and a zone; `size` is what they have at most. Cumulating ones have them if they start over
    each day, week or month, and `every` is their step.
    """

    kind: Literal["tumbling", "hopping", "session", "sliding", "calendar", "cumulating"]
    size: int
    every: int
    offset: int = 0
    unit: Literal["day", "week", "month"] | None = None
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Every:
    """Results at each multiple of the interval, in microseconds of event time."""

    interval: int


Emit = Literal["updates", "final", "all"] | Every


@dataclass(frozen=True, slots=True)
class Moment:
    """A column that says a time: a timestamp, a number of `unit`s since 1970, or ISO text, in `zone` if it says none itself."""

    column: str
    unit: Unit | None = None
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Device:
    """The clock of a device, corrected by what it says when it sends: occurred + (received - sent)."""

    occurred: Moment
    sent: Moment
    received: Moment | None
    max_skew: int | None


class Ours(Enum):
    """A clock that is not the event's own.

    The record's timestamp, whoever set it; the same, set by the log; when it is processed.
    """

    LOG = "the log"
    APPEND = "the log's clock"
    PROCESSING = "processing"


Clock = Moment | Device | Ours
"""Where an event's time comes from."""


@dataclass(frozen=True, kw_only=True)
class _Node:
    where: Where = field(compare=False)
    udfs: tuple[Udf, ...] = ()
    columns: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    kind: Kind = "stream"
    lateness: int | None = None


@dataclass(frozen=True, slots=True)
class Feed:
    """A service that fills a topic: `reader` is where its records come from, and `name` what its position is stored under."""

    name: str
    topic: str
    reader: object
    where: Where


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where records come from; the values that `hr.sources` makes."""

    @property
    def label(self) -> str:
        """As it is drawn and named in progress, errors and state. No secret is in it."""
        raise NotImplementedError

    @property
    def noun(self) -> str:
        """What it is, in the drawing of a plan."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """As a sentence says it: the topic 'trades'."""
        raise NotImplementedError

    @property
    def identity(self) -> str:
        """What a checkpoint is of: another one of the same label is another source."""
        return self.label

    @property
    def places(self) -> str:
        """A regular expression, of Python and of Java: what `_topic` of its records is."""
        raise NotImplementedError

    def place(self, topic: str, partition: int, offset: int) -> tuple[str, str]:
        """Where a record is, in words, and the command that shows it."""
        raise NotImplementedError

    def check(self, read: Read) -> None:
        """Refuses what can't be read this way, at the user's line."""

    def reads(self, topic: str) -> bool:
        """Whether what a query writes to this topic is read here."""
        return False

    @property
    def feeds(self) -> Feed | None:
        """What fills the topic that is read here, if something beside the queries does."""
        return None

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns that it has besides those of every source."""
        return ()

    @property
    def format(self) -> Format | None:
        """How its records are written, where it is the source that says so."""
        return None

    @property
    def in_batches(self) -> bool:
        """Whether it can be read in batches only, not in real-time mode."""
        return False

    @property
    def skips(self) -> str | None:
        """What a run that starts over does not read again, if it does not read all that is there."""
        return None

    @property
    def known_as(self) -> tuple[object, object]:
        """What stands for it in the names of internal topics, which must never change: what is read, and from where on."""
        raise NotImplementedError


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
class TooLate(_Node):
    """The events that came too late for windows of an aggregate, once for each window."""

    input: Node
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
class AsTable(_Node):
    """The newest event of each key, by `version` (a column) or by time."""

    input: Node
    version: str | None


@dataclass(frozen=True, kw_only=True)
class Changes(_Node):
    """A table's changes as events: the key, op, before, after."""

    input: Node


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


@dataclass(frozen=True, kw_only=True)
class TableJoin(_Node):
    """Rows of two tables that are equal in some columns. `by` says what identifies a row of the result."""

    left: Node
    right: Node
    on: Pairs
    how: How
    by: Literal["key", "left", "both"]


@dataclass(frozen=True, kw_only=True)
class TableAggregate(_Node):
    """Aggregates over the rows of a table that are equal in the key's columns."""

    input: Node
    aggregates: Named


@dataclass(frozen=True, kw_only=True)
class Cut(_Node):
    """Goes through a topic of its own, because Spark can't go on in the same query."""

    input: Node


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
        case _:
            return (node.input,)


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
