"""Where a query's rows go: what Spark is given to write with, one for each delivery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace import extras
from headrace.broker.client import Connection
from headrace.plan.sink import Destination, Option, Outbox, PythonWriter, Sink, SparkWriter, WrittenBy
from headrace.secrets import Secret
from headrace.spark import jvm, writers
from headrace.spark.columns import column
from headrace.spark.compile import Compiled

LARGE = {"kafka.max.request.size": str(100 << 20), "kafka.buffer.memory": str(128 << 20)}
"""How large a record may be is for the topic to say (max.message.bytes), not for the producer."""


@dataclass(frozen=True, slots=True)
class Places:
    """What exactly-once writing has to know besides the plan."""

    connection: Connection
    limits: Mapping[str, int]
    """How large a record may be, by topic."""
    timeout_ms: int
    outbox: Path | None = None
    """Of the application's effects, if it has any."""


def at_least_once(query: Compiled, connection: Connection, *, linger_ms: int = 5) -> DataStreamWriter:
    """Spark's own Kafka sink: after a crash the last batch is written again."""
    writer = query.records.writeStream.format("kafka").outputMode(query.spec.mode)
    return (
        writer.options(**connection.spark(), **LARGE)
        .option("kafka.enable.idempotence", "true")
        .option("kafka.linger.ms", linger_ms)
    )


def exactly_once(query: Compiled) -> DataStreamWriter:
    """The kernel's sink: each destination that is registered takes a batch once."""
    return query.lines.writeStream.format(jvm.SINK).option("sink", query.spec.id).outputMode(query.spec.mode)


def files(query: Compiled, sink: SparkWriter) -> DataStreamWriter:
    """Spark's own sink of files, which notes with each batch which files count."""
    rows = query.rows.select(*map(column, query.spec.node.columns))
    writer = rows.writeStream.format(sink.format).option("path", sink.path).outputMode("append")
    return writer.partitionBy(*sink.partition_by) if sink.partition_by else writer


def register(query: Compiled, places: Places) -> None:
    """The destinations of the query, under its id, for one run of it."""
    spec, spark = query.spec, query.rows.sparkSession
    topics = {
        "client": places.connection.java(),
        "marks": spec.marks,
        "dead": spec.dead,
        "routes": [list(route) for route in spec.routes],
        "limits": dict(places.limits),
        "timeout": str(places.timeout_ms),
        "deadLetters": None if query.dead_letters is None else query.dead_letters.java,
    }
    kafka = jvm.destination(spark, "kafka.KafkaDestination", jvm.Context(spec.id, 0, "topics", "", ()), topics)
    sinks = spec.sinks if not spec.spark_writers else ()
    others = [destination(query, sink, number, places.outbox) for number, sink in enumerate(sinks, 1)]
    jvm.register_sink(spark, spec.id, [kafka, *others])


def destination(query: Compiled, sink: Sink, number: int, outbox: Path | None = None) -> Any:
    """One of the places a query writes to besides topics; `number` is its place among the sink's destinations."""
    spec, spark = query.spec, query.rows.sparkSession
    # A query may write to several places in one database.
    mark = f"{spec.id}/{sink.label}"
    context = jvm.Context(spec.id, number, mark, query.row.json(), sink.key(spec.node, spec.where))
    java, options = _made(query, sink.written_by, outbox)
    return jvm.destination(spark, java, context, options)


def _made(query: Compiled, by: WrittenBy, outbox: Path | None) -> tuple[str, dict[str, Any]]:
    """The kernel's class, and what it is made with, secrets and all."""
    match by:
        case Destination():
            return by.java, {name: _plain(value) for name, value in by.options.items()}
        case Outbox(effect):
            # With an id of its own a row is there once, whatever batch it is in.
            keyed = effect.row_id is not None
            return "sqlite.OutboxDestination", {"file": str(outbox), "effect": effect.name, "keyed": keyed}
        case PythonWriter(writer, marked):
            extras.require("pandas", "sinks of your own", where=query.spec.where)
            calls, changes = writers.Calls.of(writer), query.spec.node.kind == "table"
            jvm.accept_calls(query.rows.sparkSession)
            return "python.PythonDestination", {"writer": calls, "marked": marked, "changes": changes}
        case SparkWriter():
            raise AssertionError(by)


def _plain(value: Option) -> Any:
    match value:
        case Secret():
            return value.value()
        case Mapping():
            return dict(value)
        case str() | int() | None:
            return value
