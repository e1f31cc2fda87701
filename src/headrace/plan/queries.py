"""From what an app writes to what runs: one QuerySpec for each distinct thing that is written. Plain data, needs no JVM."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headrace import formats
from headrace.errors import PlanError, Where
from headrace.formats.json import Json
from headrace.formats.text import Text
from headrace.plan import checks, silence, traits
from headrace.plan.callsite import CallSite
from headrace.plan.format import Format
from headrace.plan.nodes import Delivery, Named, Node, Read, TooLate, Udf, Write, reads, walk
from headrace.plan.rewrites import late, rewritten
from headrace.plan.sink import Destination, Outbox, PythonWriter, Sink, SparkWriter
from headrace.plan.source import Feed

if TYPE_CHECKING:
    from headrace.effects.effect import Effect

_OWN = "headrace."
"""What the topics begin with that Headrace makes for itself."""
_TAKEN = re.compile(r"lock|effects\.(db.*|lock)")
"""Files beside the folders of the queries."""


@dataclass(frozen=True, slots=True)
class QuerySpec:
    """One Spark query: what it reads, what it keeps, what it writes."""

    app: str
    name: str
    node: Node
    mode: traits.Mode
    to: tuple[str | Sink, ...]
    """Topics, by name, and sinks."""
    sources: tuple[Read, ...]
    state: tuple[str, ...]
    named: bool
    where: Where = field(compare=False)
    delivery: Delivery = "exactly_once"
    format: Format = field(default=Json())
    key_format: Format = field(default=Text())
    lines: tuple[Where, ...] = field(default=(), compare=False)
    """Where the user wrote each of `to`."""
    headers: Named = ()
    """Names and expressions, of the records in its topics."""
    late: tuple[Write, ...] = ()
    """What came too late for the query's windows, and the topics it goes to."""

    @property
    def id(self) -> str:
        """Its name among the queries of all applications, and its transactional id."""
        return query_id(self.app, self.name)

    @property
    def marks(self) -> str:
        """The application's topic where its queries note, with each batch, that it is written."""
        return f"{_OWN}{self.app}.marks"

    @property
    def dead(self) -> str:
        """The application's topic of records that could not be used."""
        return dead_topic(self.app)

    @property
    def paced(self) -> bool:
        """Whether its time goes on without events."""
        said = any(source.idle_after is not None or source.close_after is not None for source in self.sources)
        return said or self.close_after is not None

    @property
    def close_after(self) -> int | None:
        """The silence that closes all that waits, in microseconds; None if only events do."""
        return silence.longest(map(silence.of, silence.waiting(self.node)))

    def pulse(self, source: Read) -> str:
        """The name of that source's clock."""
        return f"{self.app}/{self.name}/{self.label(source)}"

    def label(self, source: Read) -> str:
        """The name of a source in progress, with a number if the query reads it more than once."""
        same = [each for each in self.sources if each.label == source.label]
        return source.label if len(same) < 2 or source not in same else f"{source.label} ({same.index(source) + 1})"

    def reads(self, topic: str) -> bool:
        """Whether it reads what is written to this topic."""
        return any(source.source.reads(topic) for source in self.sources)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics its rows go to."""
        return tuple(to for to in self.to if isinstance(to, str))

    @property
    def sinks(self) -> tuple[Sink, ...]:
        return tuple(to for to in self.to if not isinstance(to, str))

    @property
    def at_least_once(self) -> tuple[str, ...]:
        """What may get a batch again after a crash."""
        topics = self.topics if self.delivery == "at_least_once" else ()
        return (*topics, *(sink.label for sink in self.sinks if sink.again))

    @property
    def spark_writers(self) -> tuple[SparkWriter, ...]:
        """The sinks that Spark itself writes."""
        return tuple(by for sink in self.sinks if (by := _by_spark(sink)) is not None)

    @property
    def effects(self) -> tuple[Effect, ...]:
        """What becomes of rows that go to the outbox."""
        return tuple(effect for sink in self.sinks if (effect := _effect(sink)) is not None)

    def line(self, sink: str) -> Where:
        """Where the sink with this label was written; the query's own line if there is none."""
        labels = [to if isinstance(to, str) else to.label for to in self.to]
        return self.lines[labels.index(sink)] if sink in labels and self.lines else self.where

    @property
    def routes(self) -> tuple[tuple[str, ...], ...]:
        """The topics of its rows, and those of each stream of what is late."""
        return (self.topics, *((write.label,) for write in self.late))

    @property
    def all_topics(self) -> tuple[str, ...]:
        """The topics it writes: those of its rows and of what is late."""
        return tuple(topic for route in self.routes for topic in route)

    @property
    def writes(self) -> tuple[str, ...]:
        """All it writes: topics, and the labels of sinks."""
        return (*(to if isinstance(to, str) else to.label for to in self.to), *(write.label for write in self.late))


def query_id(app: str, name: str) -> str:
    """No name has a colon, so the query `b.c` of `a` is not the query `c` of `a.b`."""
    return f"{_OWN}{app.replace('.', ':')}.{name}"


def dead_topic(app: str) -> str:
    return f"{_OWN}{app}.dead"


def written(
    node: Node,
    to: str | Sink,
    name: str | None,
    delivery: Delivery,
    format: str | Format | None,
    key_format: str | Format | None,
    headers: Mapping[str, str] | None,
    site: CallSite,
) -> Write:
    """What `to` says."""
    where = site.where
    if not isinstance(to, str | Sink):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(
            f"to() takes a topic's name or one of hr.sinks, not {type(to).__name__}", where=where, fix='write .to("topic")'
        )
    checks.one_of("delivery", delivery, ("exactly_once", "at_least_once"), where)
    if not isinstance(to, str):
        if delivery != "exactly_once":
            often = "at least once" if to.again else "exactly once"
            raise PlanError(f"{to.label} is written {often}", where=where, fix="leave delivery= out: it is for topics")
        if format is not None or key_format is not None or headers is not None:
            extra = "headers=" if headers is not None else "format="
            raise PlanError(f"{to.label} has columns, not records", where=where, fix=f"leave {extra} out: it is for topics")
        to.check(node, where)
    value, key = formats.of(format or "json", where), formats.of(key_format or "text", where, argument="key_format")
    if (refused := value.unwritable(node.columns, node.key)) is not None:
        raise PlanError(refused, where=where, fix='make it one: select(value="…")')
    if key.name == "bytes" and len(node.key) > 1:
        raise PlanError(
            f'key_format="bytes" writes one column, and the key has {", ".join(node.key)}',
            where=where,
            fix='write key_format="json"',
        )
    if isinstance(to, str):
        checks.topic(to, where)
        if to.startswith(_OWN):
            raise PlanError(
                f"the topic {to!r} would be one of Headrace's own", where=where, fix=f"{_OWN!r} is reserved: rename it"
            )
    if name is not None:
        checks.name(name, "query", where)
    label = to if isinstance(to, str) else to.label
    chosen = name or _folder(label)
    if _TAKEN.fullmatch(chosen):
        raise PlanError(
            f"a query can't be called {chosen!r}: a file beside its checkpoint is", where=where, fix='name it: to(…, name="…")'
        )
    return Write(
        node=node,
        to=to,
        name=chosen,
        named=name is not None,
        where=where,
        delivery=delivery,
        format=value,
        key_format=key,
        headers=_headers(node, headers, site),
    )


def _headers(node: Node, headers: Mapping[str, str] | None, site: CallSite) -> Named:
    """Checked as expressions are."""
    if headers is None:
        return ()
    if not isinstance(headers, Mapping) or not all(isinstance(name, str) and name for name in headers):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(
            f"headers={headers!r} does not name headers", where=site.where, fix='write headers={"trace": "trace_id"}'
        )
    if functions := checks.check(node, headers.values(), site):
        raise PlanError(
            f"the Python function {functions[0].name}() can't be called in headers=",
            where=site.where,
            fix="compute it before: with_columns(…)",
        )
    return tuple(headers.items())


def _folder(label: str) -> str:
    """A label as the name of a folder: no two are the same, none leads elsewhere or is hidden."""
    name = re.sub(r"[^\w .@=+,~-]|^\.", lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), label)
    return name if len(name.encode()) <= 249 else f"{name[:60]}-{hashlib.sha256(label.encode()).hexdigest()[:16]}"


def queries(app: str, writes: Sequence[Write], where: Where) -> tuple[QuerySpec, ...]:
    if not writes:
        raise PlanError(f"the application {app!r} writes nothing", where=where, fix='end a stream or a table with .to("topic")')
    _one_function_a_name(writes)
    parts = rewritten(app, writes)
    groups: list[list[Write]] = []
    lates = [(write, missed) for write in parts if (missed := late.of(write)) is not None]
    for write in parts:
        if late.of(write) is not None:
            continue
        group = next((group for group in groups if _together(group, write)), None)
        if group is None:
            groups.append([write])
        else:
            group.append(write)
    for write in parts:
        if isinstance(write.to, str) and any(read.source.reads(write.to) for read in reads(write.node)):
            raise PlanError(
                f"the topic {write.to!r} would be read and written in an endless loop",
                where=write.where,
                fix="write another topic",
            )
    _one_feed_a_topic(parts)
    _one_sink_a_writer(parts)
    specs: list[QuerySpec] = []
    for group in groups:
        # A given name, or the first topic; never a counter, because state must survive edits elsewhere.
        mine = [write for write in group if not write.internal] or group
        first = next((write for write in mine if write.named), mine[0])
        if clash := next((spec for spec in specs if spec.name == first.name), None):
            raise PlanError(
                f"two queries are called {first.name!r}; the other is at {clash.where}",
                where=first.where,
                fix="give one another name=",
            )
        specs.append(_spec(app, first, group))
    for write, missed in lates:
        specs = _with_late(specs, write, missed)
    return tuple(specs)


def _together(group: Sequence[Write], write: Write) -> bool:
    """Whether the query that writes the group writes this too. How records are written is for topics to agree on."""
    first = group[0]
    alone = any(not isinstance(each.to, str) and each.to.alone for each in (first, write))
    topics = {_written_as(each) for each in (*group, write) if isinstance(each.to, str)}
    return not alone and len(topics) < 2 and first.delivery == write.delivery and first.node == write.node


def _written_as(write: Write) -> tuple[object, ...]:
    return write.format, write.key_format, write.headers


def _with_late(specs: list[QuerySpec], write: Write, missed: TooLate) -> list[QuerySpec]:
    """Events are late for one query: the first that has these windows says which."""
    for i, spec in enumerate(specs):
        if late.computes(spec.node, missed):
            return [*specs[:i], replace(spec, late=(*spec.late, write)), *specs[i + 1 :]]
    raise PlanError(
        "these late events belong to windows that no query computes",
        where=missed.where,
        fix='write an aggregate of the same windows: windowed.count().to("…")',
    )


def _one_function_a_name(writes: Sequence[Write]) -> None:
    """Spark knows functions by their names alone."""
    seen: dict[str, Udf] = {}
    for node in (node for write in writes for node in walk(write.node)):
        for udf in node.udfs:
            if seen.setdefault(udf.name, udf) != udf:
                raise PlanError(f"two functions are called {udf.name}()", where=node.where, fix="give one of them another name")


def _one_feed_a_topic(writes: Collection[Write]) -> None:
    """A position belongs to one reader, and what a reader fills is written by nothing else."""
    seen: dict[str, Feed] = {}
    for read in (read for write in writes for read in reads(write.node)):
        feed = read.source.feeds
        if feed is None:
            continue
        if written := next((write for write in writes if write.to == feed.topic), None):
            raise PlanError(
                f"the topic {feed.topic!r} is filled by the source {feed.name!r}",
                where=written.where,
                fix="write another topic",
            )
        for key, what in ((f"name {feed.name}", "are called"), (f"topic {feed.topic}", "fill the topic")):
            other = seen.setdefault(key, feed)
            if other.reader is not feed.reader or (other.name, other.topic) != (feed.name, feed.topic):
                raise PlanError(
                    f"two sources {what} {key.partition(' ')[2]!r}; the other is at {other.where}",
                    where=feed.where,
                    fix="give one another topic= (and name=), or make one source and read it twice",
                )


def _one_sink_a_writer(writes: Collection[Write]) -> None:
    """A writer is called by one query at a time."""
    seen: dict[int, Write] = {}
    for write in writes:
        if isinstance(write.to, str):
            continue
        match write.to.written_by:
            case PythonWriter(writer):
                if (other := seen.setdefault(id(writer), write)) is not write:
                    raise PlanError(
                        f"{write.label} has the same writer as {other.label}, at {other.where}",
                        where=write.where,
                        fix=f"make one for each: custom({type(writer).__name__}(…), name=…)",
                    )
            case Destination() | SparkWriter() | Outbox():
                pass


def _by_spark(sink: Sink) -> SparkWriter | None:
    match sink.written_by:
        case SparkWriter() as writer:
            return writer
        case Destination() | Outbox() | PythonWriter():
            return None


def _effect(sink: Sink) -> Effect | None:
    match sink.written_by:
        case Outbox(effect):
            return effect
        case Destination() | SparkWriter() | PythonWriter():
            return None


def _spec(app: str, first: Write, group: Sequence[Write]) -> QuerySpec:
    nodes = walk(first.node)
    records = next((write for write in group if isinstance(write.to, str)), first)
    return QuerySpec(
        app=app,
        name=first.name,
        node=first.node,
        mode=traits.mode(nodes),
        to=tuple(write.to for write in group),
        lines=tuple(write.where for write in group),
        sources=reads(first.node),
        state=tuple(kept for node in nodes if (kept := traits.state(node)) is not None),
        named=first.named,
        where=first.where,
        delivery=first.delivery,
        format=records.format,
        key_format=records.key_format,
        headers=records.headers,
    )
