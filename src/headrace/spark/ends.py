"""Where a query's rows go: what Spark is given to write with, one for each delivery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.broker.client import Connection
from headrace.effects.effect import Effect
from headrace.plan.nodes import Sink
from headrace.sinks.files import Files
from headrace.sinks.postgres import Postgres
from headrace.sinks.redis import Redis
from headrace.sinks.sqlite import Sqlite
from headrace.spark import jvm
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
    """The kernel's sink: each of the ends that are registered takes a batch once."""
    return query.lines.writeStream.format(jvm.SINK).option("sink", query.spec.id).outputMode(query.spec.mode)


def files(query: Compiled, sink: Files) -> DataStreamWriter:
    """Spark's own sink of files, which notes with each batch which files count."""
    rows = query.rows.select(*map(column, query.spec.node.columns))
    writer = rows.writeStream.format(sink.format).option("path", sink.path).outputMode("append")
    return writer.partitionBy(*sink.partition_by) if sink.partition_by else writer


def register(query: Compiled, places: Places) -> None:
    """The ends of the query, under its id, for one run of it."""
    spec, spark = query.spec, query.rows.sparkSession
    kafka = jvm.kafka_end(
        spark,
        number=0,
        client=places.connection.java(),
        id=spec.id,
        marks=spec.marks,
        dead=spec.dead,
        routes=spec.routes,
        limits=places.limits,
        timeout_ms=places.timeout_ms,
        letters=query.letters,
    )
    sinks = [sink for sink in spec.sinks if not isinstance(sink, Files)]
    others = [end(query, sink, number, places.outbox) for number, sink in enumerate(sinks, 1)]
    jvm.register_sink(spark, spec.id, [kafka, *others])


def end(query: Compiled, sink: Sink, number: int, outbox: Path | None = None) -> Any:
    """One of the places a query writes to besides topics; `number` is its place among the sink's ends."""
    spec, spark, row = query.spec, query.rows.sparkSession, query.row
    # A query may write to several places in one database.
    mark = f"{spec.id}/{sink.label}"
    match sink:
        case Postgres():
            return jvm.postgres_end(
                spark,
                query=mark,
                host=sink.host,
                port=sink.port,
                database=sink.database,
                options={**dict(sink.options), "user": sink.user},
                password=sink.password and sink.password.value(),
                table=sink.table,
                row=row,
                key=sink.key(spec.node, spec.where),
                create=sink.create,
            )
        case Sqlite():
            return jvm.sqlite_end(
                spark,
                sink=spec.id,
                number=number,
                query=mark,
                path=sink.path,
                table=sink.table,
                row=row,
                key=sink.key(spec.node, spec.where),
                create=sink.create,
            )
        case Redis():
            return jvm.redis_end(
                spark,
                sink=spec.id,
                number=number,
                query=mark,
                host=sink.host,
                port=sink.port,
                database=sink.database,
                tls=sink.tls,
                user=sink.user,
                password=sink.password and sink.password.value(),
                prefix=sink.prefix,
                row=row,
                expire=sink.expire,
            )
        case Effect():
            return jvm.outbox_end(
                spark,
                sink=spec.id,
                number=number,
                query=mark,
                path=str(outbox),
                effect=sink.name,
                keyed=sink.row_id is not None,
            )
        case _:
            raise AssertionError(sink)
