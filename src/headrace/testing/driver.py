"""Driver: runs an app over a log inside of Spark, batch by batch, as the test says."""

from __future__ import annotations

import atexit
import base64
import json
import shutil
import tempfile
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

from headrace import jars
from headrace.broker.records import DeadLetter
from headrace.errors import PlanError
from headrace.plan.callsite import call_site
from headrace.plan.durations import Duration, micros
from headrace.plan.format import Format
from headrace.plan.nodes import Read
from headrace.plan.order import waves
from headrace.plan.queries import QuerySpec
from headrace.plan.sql.expressions import unknown_column
from headrace.runtime import failures, progress
from headrace.runtime.pace import Pace, still_open
from headrace.runtime.progress import Batch, Total
from headrace.spark import jvm
from headrace.spark.compile import Compiled, compile_all
from headrace.spark.read import memory
from headrace.spark.session import session
from headrace.testing import tables
from headrace.testing.tables import Row, at, parse

if TYPE_CHECKING:
    from headrace.app import App


QUICK_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
QUICK = {"spark.sql.streaming.pollingDelay": "20ms", "spark.sql.lightweightPlanChangeValidation": "false"}
"""Tests run many small queries: Java's first compiler is enough for a few records, and saves 10 to 20 % of the processor.
With that compiler alone Java has room for 48 MB of compiled code, which a few hundred queries fill; then it compiles again and
again."""

_EPOCH = at("1970-01-01 00:00:00")


def spark() -> SparkSession:
    """The session of this process's tests; started once."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    log = Path(tempfile.gettempdir()) / f"headrace-test-{uuid.uuid4().hex[:8]}" / "spark.log"
    atexit.register(shutil.rmtree, log.parent, ignore_errors=True)
    connector = tuple(jars.connector_jars())
    return session("headrace-test", master="local[2,4]", jars=connector, log=log, java_options=QUICK_JAVA, more=QUICK)


class Driver:
    """Feeds an app's topics, runs it, and reads what it wrote.

    Time stands still unless it is told: it starts at 2024-01-01 00:00, follows the event times that are fed, and moves on
    with `advance`.
    """

    def __init__(self, app: App) -> None:
        self._specs = app.queries()
        self._spark = spark()
        self._log = uuid.uuid4().hex
        self._clock = f"{self._log}/"
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-"))
        self._now = at("00:00:00")
        self._reads = list(dict.fromkeys(source for spec in self._specs for source in spec.sources))
        self._topics = {topic for source in self._reads for topic in memory.names(source)}
        self._uncut = False
        self._queries: dict[str, StreamingQuery] = {}
        self._batches: list[Batch] = []
        self._seen: dict[str, int] = {}
        self._dead: list[DeadLetter] = []
        self._failed = False
        self._there: dict[str, int] = {}
        self._paces = {spec.name: Pace(spec, _micros(self._now)) for spec in self._specs}
        jvm.memory_log_create(self._spark, self._log)
        self._compiled: dict[str, Compiled] = {}
        if all(memory.names(source) for source in self._reads):
            self._compile()

    def _compile(self) -> None:
        """At once, but for a pattern: which topics match is known when they are fed."""
        if not self._compiled:
            now = F.col("_timestamp")
            for compiled in compile_all(self._specs, self._read, now=now, clock=self._clock):
                self._compiled[compiled.spec.name] = compiled

    @property
    def now(self) -> datetime:
        """The test's clock: the timestamp that the log gives to the records fed next."""
        return self._now

    def feed(
        self,
        topic: str,
        rows: str | Sequence[Mapping[str, Any] | bytes | str | None],
        *,
        key: str | None = None,
        at: str | datetime | None = None,
    ) -> Driver:
        """Appends records: a text table, or a list of rows (dicts), of raw values (bytes, str), or of None (no value).

        They are read in one batch with all else that was fed since the last `cut` or `run`. `key` names the column that is
        the records' key, `at` is when they come: it moves the test's clock. In a text table a line of dashes ends a batch.
        """
        sources = self._sources(topic)
        if at is not None:
            self._now = max(self._now, tables.at(at))
        types = {name: kind for source in sources for name, kind in source.fields}
        batches: list[list[Any]] = parse(rows, types) if isinstance(rows, str) else [list(rows)]
        for number, batch in enumerate(batches):
            if number:
                self.cut()
            records = [self._record(sources, row, key) for row in batch]
            jvm.memory_log_append(self._spark, self._log, topic, records)
            self._uncut = True
        return self

    def delete(self, topic: str, *keys: Any) -> Driver:
        """Appends records without a value: they delete the rows of these keys; a key is a value, or a dict of its columns."""
        self._sources(topic)
        for key in keys:
            text = json.dumps(key, default=_json) if isinstance(key, Mapping) else str(key)
            jvm.memory_log_append(self._spark, self._log, topic, [(text.encode(), None, _micros(self._now), 0)])
            self._uncut = True
        return self

    def cut(self) -> Driver:
        """Ends a batch: what is fed from here on belongs to the next one."""
        jvm.memory_log_cut(self._spark, self._log)
        self._uncut = False
        return self

    def run(self) -> Driver:
        """Processes all that was fed."""
        self.cut()
        self._process_all()
        return self

    def advance(self, duration: Duration | None = None, *, to: str | datetime | None = None) -> Driver:
        """Moves time on, without an event, and runs: windows that end before it (and its lateness) become final."""
        # A cut without records would ask every query for an empty batch.
        if self._uncut:
            self.cut()
        self._process_all()
        if to is not None:
            self._now = max(self._now, at(to))
        if duration is not None:
            self._now += timedelta(microseconds=micros(duration, what="duration", where=call_site().where))
        # Time moves on in a topic between two queries only when the first of them has written what this makes final.
        ordered = waves(self._specs)
        written = [{topic for spec in wave for topic in spec.writes if topic in self._topics} for wave in ordered]
        topics = set(self._topics).difference(*written)
        for wave, after in zip(ordered, written, strict=True):
            self._pulse(wave)
            self._move(topics)
            topics = after
        if topics:
            self._move(topics)
        return self

    def crash(self) -> Driver:
        """Dies after the last batch was written and before it was noted as done, so that it will be processed again."""
        self._stop()
        for spec in self._specs:
            commits = sorted((self._folder / spec.name / "commits").glob("[0-9]*"), key=lambda file: int(file.name))
            for file in commits[-1:]:
                file.unlink()
                file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        return self

    def restart(self) -> Driver:
        """Stops and starts cleanly."""
        self._stop()
        return self

    def rows(self, topic: str) -> list[Row]:
        """All rows written to a topic, in order, without the deletes; timestamps as datetimes."""
        return [row for _, row in self._written(topic) if row is not None]

    def changes(self, topic: str) -> list[tuple[str | None, Row | None]]:
        """All that was written to a topic, in order: the key and the row, which is None where it was deleted."""
        return list(self._written(topic))

    def table(self, topic: str) -> dict[str | None, Row]:
        """The newest row of each key written to a topic, without those that were deleted."""
        return {key: row for key, row in dict(self._written(topic)).items() if row is not None}

    def batches(self, query: str | None = None) -> list[Batch]:
        """What the queries reported of each batch: rows in and out, late and bad ones, state, watermark."""
        return [batch for batch in self._batches if query in (None, batch.query)]

    def dead(self) -> list[DeadLetter]:
        """The records that could not be decoded so far, with their causes."""
        return list(self._dead)

    def total(self, query: str) -> Total:
        """The sum of a query's batches."""
        total = Total(query=query)
        for batch in self.batches(query):
            total = total.plus(batch)
        return total

    def close(self) -> None:
        """Ends it. Raises an AssertionError if a record that a query has read is neither taken nor filtered, late or bad."""
        wrong = [] if self._failed else [problem for spec in self._specs if (problem := self._unaccounted(spec))]
        self._stop()
        jvm.memory_log_drop(self._spark, self._log)
        shutil.rmtree(self._folder, ignore_errors=True)
        if wrong:
            raise AssertionError("; ".join(wrong))

    def _unaccounted(self, spec: QuerySpec) -> str | None:
        """What is wrong with the counts of a query: those of its batches, and how many records it should have read."""
        batches = {batch.batch: batch for batch in self.batches(spec.name)}
        for batch in batches.values():
            if batch.problem:
                return f"query {spec.name!r}: the account of batch {batch.batch} does not close: {batch.problem}"
        read = sum(batch.rows_in for batch in batches.values())
        if (there := self._there.get(spec.name, read)) != read:
            return f"query {spec.name!r} counts {read} records in, and its topics have {there}"
        return None

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        self._failed = self._failed or kind is not None
        self.close()

    def _sources(self, topic: str) -> list[Read]:
        """Mostly one; more if a topic is declared more than once."""
        sources = [source for source in self._reads if topic in memory.names(source, (topic,))]
        if sources and topic not in self._topics:
            if self._compiled:
                raise PlanError(
                    f"the topic {topic!r} is fed for the first time after a run",
                    where=call_site().where,
                    fix="in a test, topics that a pattern matches are all fed before the first run()",
                )
            self._topics.add(topic)
        if not sources:
            raise PlanError(
                f"the app does not read the topic {topic!r}",
                where=call_site().where,
                fix=f"it reads: {', '.join(sorted(self._topics))}",
            )
        return sources

    def _read(self, source: Read) -> DataFrame:
        return memory.read(self._spark, source, self._log, self._topics)

    def _pulse(self, wave: Sequence[QuerySpec]) -> None:
        now = _micros(self._now)
        for spec in wave:
            pace = self._paces[spec.name]
            pace.wait(now, still_open((other, self._paces[other.name]) for other in self._specs if other is not spec))
            for source, time in pace.pulses(now).items():
                jvm.pulse(self._spark, self._clock + spec.pulse(source), time)

    def _move(self, topics: Collection[str]) -> None:
        for topic in topics:
            jvm.memory_log_advance(self._spark, self._log, topic, _micros(self._now))
        if topics:
            self.cut()
        self._process_all()

    def _start(self, spec: QuerySpec) -> StreamingQuery:
        records = self._compiled[spec.name].records
        writer = records.writeStream.format(memory.FORMAT).options(log=self._log, topic=spec.writes[0])
        return writer.outputMode(spec.mode).option("checkpointLocation", str(self._folder / spec.name)).start()

    def _process_all(self) -> None:
        self._compile()
        for wave in waves(self._specs):
            for spec in wave:
                if spec.name not in self._queries:
                    self._queries[spec.name] = self._start(spec)
            for spec in wave:
                self._process(spec)

    def _process(self, spec: QuerySpec) -> None:
        query = self._queries[spec.name]
        try:
            query.processAllAvailable()
            topics = {topic for source in spec.sources for topic in memory.names(source, self._topics)}
            self._there[spec.name] = sum(jvm.memory_log_records(self._spark, self._log, topic) for topic in topics)
        except Exception as e:
            self._failed = True
            failure = jvm.failure(query)
            if failure is None:
                raise
            self._queries.pop(spec.name)
            raise failures.judge(failure, spec).error from e
        finally:
            self._note(spec.name, query)

    def _note(self, name: str, query: StreamingQuery) -> None:
        spec = next(spec for spec in self._specs if spec.name == name)
        dead_letters = self._compiled[name].dead_letters
        taken = dead_letters.take() if dead_letters else []
        self._dead += [each for each in taken if each not in self._dead]
        for batch in progress.batches(spec, query, self._seen.get(name, -1), lambda _: 0):
            self._paces[name].note(batch, _micros(self._now))
            self._seen[name] = batch.batch
            self._batches.append(batch)

    def _stop(self) -> None:
        for query in self._queries.values():
            query.stop()
        self._queries.clear()

    def _record(self, sources: list[Read], row: Any, key: str | None) -> tuple[bytes | None, bytes | None, int, int]:
        if isinstance(row, Mapping):
            fields: Mapping[str, Any] = row  # pyright: ignore[reportUnknownVariableType]
            for column in {source.time for source in sources if source.time is not None}:
                if (when := fields.get(column)) is not None:
                    fields = {**fields, column: at(when) if isinstance(when, str) else when}
                    if isinstance(fields[column], datetime):
                        self._now = max(self._now, at(fields[column]))
            self._known(sources, (*fields, *([key] if key else [])))
            name = fields.get(key) if key is not None else _key(sources, fields)
            value = _plain(fields["value"]) if sources[0].format.fields is not None else json.dumps(fields, default=_json)
            return None if name is None else str(name).encode(), _bytes(value), _micros(self._now), 0
        return None, _bytes(row), _micros(self._now), 0

    def _known(self, sources: list[Read], names: Iterable[str]) -> None:
        """More columns than the schema's are fine in the log; in a test they are typos."""
        columns = tuple(dict.fromkeys(column for source in sources for column in source.columns))
        for name in names:
            if name not in columns:
                raise unknown_column(name, columns, of=f"the stream {sources[0].label!r}", where=call_site().where)

    def _written(self, topic: str) -> Iterable[tuple[str | None, Row | None]]:
        spec = next((spec for spec in self._specs if topic in spec.writes), None)
        if spec is None:
            raise PlanError(
                f"the app does not write the topic {topic!r}",
                where=call_site().where,
                fix=f"it writes: {', '.join(sorted({each for spec in self._specs for each in spec.writes}))}",
            )
        self._compile()
        schema = self._compiled[spec.name].rows.schema
        for record in jvm.memory_log_read(self._spark, self._log, topic):
            row = None if record.value is None else _row(record.value, schema, spec.format)
            yield None if record.key is None else record.key.decode(errors="replace"), row


def _row(value: bytes, schema: StructType, format: Format) -> Row:
    if format.fields is not None:
        return {"value": value.decode() if dict(format.fields)["value"] == "string" else value}
    row: Row = json.loads(value)
    return {name: _timed(cell, schema[name].dataType) for name, cell in row.items()}


def _timed(value: Any, kind: DataType) -> Any:
    """With its timestamps as datetimes, however deep they are."""
    match kind:
        case _ if value is None:
            return None
        case TimestampType():
            return at(value)
        case StructType():
            return {name: _timed(cell, kind[name].dataType) for name, cell in value.items()}
        case ArrayType():
            return [_timed(cell, kind.elementType) for cell in value]
        case MapType():
            return {name: _timed(cell, kind.valueType) for name, cell in value.items()}
        case _:
            return value


def _key(sources: list[Read], fields: Mapping[str, Any]) -> Any:
    """A table's records have its key as theirs."""
    key = next((source.key for source in sources if source.key), ())
    if len(key) < 2:
        return fields.get(key[0]) if key else None
    return json.dumps({name: fields.get(name) for name in key}, default=_json)


def _bytes(value: Any) -> bytes | None:
    return value if value is None or isinstance(value, bytes) else str(value).encode()


def _plain(value: Any) -> Any:
    return value if isinstance(value, bytes) else str(value)


def _json(value: Any) -> Any:
    match value:
        case datetime() | date():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            raise TypeError(f"{value!r} can't be written as JSON")


def _micros(when: datetime) -> int:
    return (when - _EPOCH) // timedelta(microseconds=1)
