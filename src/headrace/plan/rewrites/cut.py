"""Puts an internal topic in place of each cut: what is above the cut writes it, and what is below reads it."""

from __future__ import annotations

from dataclasses import replace

from headrace.formats.json import Json
from headrace.plan import checks, digest, silence
from headrace.plan.clocks import Moment, Ours
from headrace.plan.nodes import TIME, Cut, Node, Project, Read, Write
from headrace.plan.rewrites.fold import fold
from headrace.plan.sql.schema import quoted
from headrace.sources.kafka import Kafka

EVENT_TIME = "_event_time"


def rewrite(app: str, write: Write) -> tuple[Write, ...]:
    """A write for each internal topic, then the write itself."""
    writes: dict[str, Write] = {}
    read: dict[str, Read] = {}

    def through(was: Node, node: Node) -> Node:
        """The topic in place of the cut. A query reads it once."""
        if not isinstance(node, Cut):
            return node
        topic = f"headrace.{app}.{digest.of(node.input)}"
        if topic not in read:
            before = _timed(node.input)
            writes[topic] = Write(node=before, to=topic, name=topic, named=False, where=node.where, internal=True)
            read[topic] = _read(topic, node, before, silence.of_streams(was))
        return read[topic]

    end = fold(write.node, through)
    return (*writes.values(), replace(write, node=end))


def _timed(node: Node) -> Node:
    """Events are written with their time, a table's rows unchanged."""
    if node.kind == "table":
        return node
    kept = tuple((name, quoted(name)) for name in node.columns)
    head = checks.same(node, node.where, columns=(*node.columns, EVENT_TIME))
    return Project(**head, input=node, items=(*kept, (EVENT_TIME, TIME)))


def _read(topic: str, cut: Cut, before: Node, close_after: int | None) -> Read:
    return Read(
        **checks.same(cut, cut.where),
        source=Kafka(topics=(topic,)),
        format=Json(),
        fields=(),
        clock=Moment(EVENT_TIME) if cut.kind == "stream" else Ours.LOG,
        bad="fail",
        close_after=close_after,
        origin=before,
    )
