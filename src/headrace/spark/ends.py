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
    """The destinations of the query, under its id, for one run of it."""
    spec, spark = query.spec, query.rows.sparkSession
    kafka = jvm.kernel(spark).sink.kafka.KafkaDestination.of(
        spec.id,
        0,
        places.connection.java(),
        spec.marks,
        spec.dead,
        [list(route) for route in spec.routes],
        dict(places.limits),
        str(places.timeout_ms),
        None if query.letters is None else query.letters.java,
    )
    sinks = [sink for sink in spec.sinks if not isinstance(sink, Files)]
    others = [end(query, sink, number, places.outbox) for number, sink in enumerate(sinks, 1)]
    jvm.register_sink(spark, spec.id, [kafka, *others])


def end(query: Compiled, sink: Sink, number: int, outbox: Path | None = None) -> Any:
    """One of the places a query writes to besides topics; `number` is its place among the sink's destinations."""
    spec, kernel, row = query.spec, jvm.kernel(query.rows.sparkSession).sink, query.row.json()
    # A query may write to several places in one database.
    mark = f"{spec.id}/{sink.label}"
    match sink:
        case Postgres():
            options = {**dict(sink.options), "user": sink.user}
            password = sink.password and sink.password.value()
            server = (sink.host, sink.port, sink.database, options, password)
            key = list(sink.key(spec.node, spec.where))
            return kernel.postgres.PostgresDestination.of(mark, *server, sink.table, row, key, sink.create)
        case Sqlite():
            key = list(sink.key(spec.node, spec.where))
            return kernel.sqlite.SqliteDestination.of(spec.id, number, mark, sink.path, sink.table, row, key, sink.create)
        case Redis():
            password = sink.password and sink.password.value()
            server = (sink.host, sink.port, sink.database, sink.tls, sink.user, password)
            return kernel.redis.RedisDestination.of(spec.id, number, mark, *server, sink.prefix, row, sink.expire)
        case Effect():
            # With an id of its own a row is there once, whatever batch it is in.
            keyed = sink.row_id is not None
            return kernel.sqlite.SqliteDestination.outbox(spec.id, number, mark, str(outbox), sink.name, keyed)
        case _:
            raise AssertionError(sink)
