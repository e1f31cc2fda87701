"""What a topic contains now, as Arrow: a bounded read by Spark, with the decoders of the queries."""

from __future__ import annotations

import uuid
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import pyarrow.compute
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from headrace.broker import topics
from headrace.broker.client import Connection
from headrace.errors import BadRecord, PlanError, TopicError
from headrace.plan import build
from headrace.plan.callsite import CallSite
from headrace.plan.format import Format
from headrace.plan.nodes import Bad, Read, walk
from headrace.plan.queries import QuerySpec
from headrace.plan.sql.expressions import unknown_column
from headrace.plan.sql.schema import Schema
from headrace.runtime.look.visit import visiting
from headrace.sources.kafka import Kafka, Offsets
from headrace.spark import decode, jvm
from headrace.spark.columns import column, path
from headrace.spark.compile import compile
from headrace.spark.formats.codec import BAD
from headrace.spark.read import kafka, memory
from headrace.spark.tables import DELETED

if TYPE_CHECKING:
    from headrace.app import App

_COMPUTE: Any = pyarrow.compute
PLACE = ("_key", "_topic", "_partition", "_offset", "_timestamp")
_ENOUGH = 4


@dataclass(frozen=True, slots=True)
class Wanted:
    """The arguments of `hr.read`."""

    source: Kafka
    site: CallSite
    app: App | None
    schema: Schema | None
    format: str | Format | None
    key_format: str | Format | None
    as_table: bool | None
    key: tuple[str, ...]
    version: str | None
    columns: Sequence[str] | None
    until: Kafka | None
    limit: int | None
    bad: Bad | None


@dataclass(frozen=True, slots=True)
class _Records:
    """How records are read and decoded, and whether they are a table."""

    read: Read
    as_table: bool


def read(wanted: Wanted, flags: Mapping[str, Any]) -> Any:
    """An Arrow table, the oldest row first."""
    if wanted.app is None:
        _known(_declared(wanted), wanted)
    with visiting("hr.read", flags) as (spark, connection, _):
        records = _declared(wanted) if wanted.app is None else _of_app(wanted, wanted.app, spark)
        columns = _known(records, wanted)
        for name in wanted.source.topics:
            try:
                topics.require(connection, name)
            except TopicError as e:
                raise TopicError(e.message, where=wanted.site.where, fix=e.fix) from e
        found = _Reading(records, wanted, spark, connection).rows(columns)
    return found.select(list(columns))


def _declared(wanted: Wanted) -> _Records:
    """As the arguments say."""
    read = build.source(
        wanted.source,
        wanted.site,
        fields=wanted.schema,
        time=None,
        lateness=None,
        format=wanted.format,
        key_format=wanted.key_format or "text",
        bad=wanted.bad or "skip",
        key=wanted.key,
        version=wanted.version,
    )
    return _Records(read, bool(wanted.key) if wanted.as_table is None else wanted.as_table)


def _of_app(wanted: Wanted, app: App, spark: SparkSession) -> _Records:
    """As the application writes the topic, or as it reads it."""
    where = wanted.site.where
    if wanted.schema is not None or wanted.format is not None or wanted.key:
        raise PlanError(
            "schema, format and key are already known from app=",
            where=where,
            fix="leave out app=, or schema=, format= and key=",
        )
    (name, *others) = wanted.source.topics or ("",)
    specs = app.queries()
    for spec in specs:
        for route, format in _routes(spec):
            if name in route and not others:
                fields, is_table = _written(spec, route, spark)
                declared = replace(wanted, schema=None if format.fields else fields, format=format, version=None)
                made = _declared(replace(declared, key_format=spec.key_format if format.fields is None else None))
                return replace(made, as_table=is_table if wanted.as_table is None else wanted.as_table)
    reads = [node for spec in specs for node in walk(spec.node) if isinstance(node, Read) and node.origin is None]
    for node in reads:
        if node.source.reads(name):
            read = replace(node, source=wanted.source, bad=wanted.bad or node.bad)
            return _Records(read, node.kind == "table" if wanted.as_table is None else wanted.as_table)
    known = [*(topic for spec in specs for topic in spec.topics), *(node.label for node in reads)]
    raise PlanError(
        f"the application {app.name!r} neither writes nor reads the topic {name!r}",
        where=where,
        fix=f"it has: {', '.join(dict.fromkeys(known))}; or leave app= out and write schema=…",
    )


def _routes(spec: QuerySpec) -> list[tuple[tuple[str, ...], Format]]:
    formats = [spec.format, *(write.format for write in spec.late)]
    return list(zip(spec.routes, formats, strict=True))


def _written(spec: QuerySpec, route: tuple[str, ...], spark: SparkSession) -> tuple[Any, bool]:
    """The columns that a query writes there; only Spark knows their types."""
    log = uuid.uuid4().hex
    jvm.memory_log_create(spark, log)
    try:
        compiled = compile(spec, lambda source: memory.read(spark, source, log))
    finally:
        jvm.memory_log_drop(spark, log)
    number = spec.routes.index(route)
    if number == 0:
        return compiled.row, spec.node.kind == "table"
    late = spec.late[number - 1].node
    return compiled.lates[number - 1].select(*map(column, late.columns)).schema, False


def _known(records: _Records, wanted: Wanted) -> tuple[str, ...]:
    """The columns to return."""
    names = wanted.columns if wanted.columns is not None else records.read.columns
    for name in names:
        if name not in (*records.read.columns, *PLACE):
            raise unknown_column(name, (*records.read.columns, *PLACE), of=wanted.source.title, where=wanted.site.where)
    return tuple(names)


@dataclass(frozen=True, slots=True)
class _Reading:
    records: _Records
    wanted: Wanted
    spark: SparkSession
    connection: Connection

    def rows(self, columns: tuple[str, ...]) -> Any:
        limit, whole = self.wanted.limit, self.records.as_table or self.wanted.until is not None
        if limit is None or whole or self.wanted.source.start != "earliest":
            found = self._read(self.wanted.source, columns)
            return found if limit is None else found.slice(max(found.num_rows - limit, 0))
        count = limit
        while True:
            # Transaction markers, which are no rows, have offsets too.
            source = kafka.from_newest(self.wanted.source, self.connection, count, each=True)
            found = self._read(source, columns)
            if self._enough(found, source, limit):
                return found.slice(max(found.num_rows - limit, 0))
            count *= _ENOUGH

    def _read(self, source: Kafka, columns: tuple[str, ...]) -> Any:
        there = {name: topics.require(self.connection, name) for name in self._names(source)}
        end = {} if self.wanted.until is None else kafka.ending(self.wanted.until, there)
        start = kafka.starting(source, there)
        records = kafka.bounded(self.spark, source, self.connection, start=start, end=end or {"endingOffsets": "latest"})
        counted = Observation()
        rows = self._decoded(records, counted, columns)
        if self.records.as_table:
            rows = _newest(rows, self.records.read)
        found: Any = cast("Any", rows).toArrow()
        self._report(counted.get)
        if self.records.as_table:
            found = _present(found)
        order = [(name, "ascending") for name in ("_timestamp", "_topic", "_partition", "_offset")]
        return found.take(_COMPUTE.sort_indices(found, sort_keys=order))

    def _names(self, source: Kafka) -> list[str]:
        return [name for name in topics.names(self.connection, internal=True) if source.reads(name)]

    def _enough(self, found: Any, source: Kafka, limit: int) -> bool:
        """Whether the newest rows are among those found: each partition has as many, or was read from its first record on."""
        whole = kafka.from_newest(source, self.connection, 1 << 62, each=True).start
        assert isinstance(source.start, Offsets)
        assert isinstance(whole, Offsets)
        later = set(source.start.places) - set(whole.places)
        counts = Counter(zip(found["_topic"].to_pylist(), found["_partition"].to_pylist(), strict=True))
        return all(counts[topic, partition] >= limit for topic, partition, _ in later)

    def _decoded(self, records: DataFrame, counted: Observation, columns: tuple[str, ...]) -> DataFrame:
        read = self.records.read
        rows = records.select(
            # Not "fail": the decoder would end the read, and `_report` names the record.
            decode.value(records, replace(read, bad="skip")).alias("_row"),
            # The bytes identify a key: as text, keys that are not UTF-8 would all be equal.
            F.col("key").alias("_raw"),
            F.col("key").cast("string").alias("_key"),
            F.col("topic").alias("_topic"),
            F.col("partition").alias("_partition"),
            F.col("offset").alias("_offset"),
            F.col("timestamp").alias("_timestamp"),
            F.col("value").isNull().alias(DELETED),
        )
        cause = F.col(f"_row.{BAD}")
        if read.kind != "table":
            # No value is a delete: it is no row of a stream, and removes a row of a table.
            cause = F.when(~F.col(DELETED), cause)
        first = F.struct("_topic", "_partition", "_offset", cause.alias("cause"))
        rows = rows.select("*", cause.alias("_cause")).observe(
            counted,
            F.count("*").alias("records"),
            F.count_if(F.col("_cause").isNotNull()).alias("bad"),
            F.min(F.when(F.col("_cause").isNotNull(), first)).alias("first"),
        )
        keep = F.col("_cause").isNull()
        good = rows.where(keep if self.records.as_table else keep & ~F.col(DELETED))
        wanted = [name for name in read.columns if name in {*columns, *read.key, read.version}]
        cells: list[Column] = [F.col(path("_row", name)).alias(name) for name in wanted]
        return good.select(*cells, *PLACE, "_raw", DELETED)

    def _report(self, counts: Mapping[str, Any]) -> None:
        if not counts["bad"]:
            return
        first, title, where = counts["first"], self.wanted.source.title, self.wanted.site.where
        place = f"topic {first['_topic']}, partition {first['_partition']}, offset {first['_offset']}: {first['cause']}"
        bad, records = f"{counts['bad']:,}", f"{counts['records']:,}"
        look = f"headrace peek {first['_topic']} --partition {first['_partition']} --from {first['_offset']} -n 1 shows it"
        if (self.wanted.bad or self.records.read.bad) == "fail":
            raise BadRecord(f"a record can't be decoded: {place}", where=where, fix=f'{look}; bad="skip" leaves it out')
        if counts["bad"] == counts["records"]:
            raise BadRecord(
                f"none of the {records} records of {title} can be decoded; the first is {place}",
                where=where,
                fix=f"{look}; correct the schema or the format",
            )
        warnings.warn(
            f"{bad} of {records} records of {title} can't be decoded and are left out; the first is {place}\n  at {where}",
            stacklevel=2,
        )


def _newest(rows: DataFrame, read: Read) -> DataFrame:
    """The newest row of each key, deletes included: by the order of the log within a partition, or by the version."""
    by = [F.col(name) for name in read.key] if read.kind == "table" else [F.col("_raw")]
    names = [f"_by{number}" for number in range(len(by))]
    row = F.struct(*(F.col(path(name)) for name in rows.columns)).alias("_row")
    keyed = rows.select(*(key.alias(name) for key, name in zip(by, names, strict=True)), row)
    if read.version is not None:
        return _by_version(keyed, names, read.version)
    last = keyed.groupBy(*names, "_row._topic", "_row._partition").agg(F.max_by("_row", "_row._offset").alias("_row"))
    newest = F.max_by("_row", F.struct("_row._timestamp", "_row._partition"))
    return last.groupBy(*names).agg(newest.alias("_row")).select("_row.*")


def _by_version(keyed: DataFrame, names: Sequence[str], version: str) -> DataFrame:
    """The row with the highest version, of equal ones the later. A delete has no version: it removes what came before."""
    deleted = F.col(path("_row", DELETED))
    rows = F.struct(path("_row", version), "_row._offset")
    newest = F.max_by(F.when(~deleted, F.col("_row")), F.when(~deleted, rows))
    delete = F.max_by(F.when(deleted, F.col("_row")), F.when(deleted, F.struct("_row._timestamp", "_row._offset")))
    both = keyed.groupBy(*names).agg(newest.alias("_row"), delete.alias("_end")).where(F.col("_row").isNotNull())
    same = F.col("_end._partition") == F.col("_row._partition")
    after = F.when(same, F.col("_end._offset") > F.col("_row._offset"))
    ended = after.otherwise(F.col("_end._timestamp") > F.col("_row._timestamp"))
    return both.where(~F.coalesce(ended, F.lit(False))).select("_row.*")


def _present(found: Any) -> Any:
    """Leaves out deletes and, where some records have keys, those without."""
    keep = _COMPUTE.invert(found[DELETED])
    keyed = _COMPUTE.is_valid(found["_raw"])
    if found.num_rows and _COMPUTE.any(keyed).as_py():
        keep = _COMPUTE.and_(keep, keyed)
    return found.filter(keep)
