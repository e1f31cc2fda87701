"""Queries over the newest records of their sources, for previews: nothing is written but a temporary folder.

They are compiled as in a run. What one of them writes and another reads goes through a log in memory, and so do the results
that `headrace dev` shows; topics, sinks, checkpoints and consumer groups of the application are left alone.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.broker.client import Connection
from headrace.broker.records import DeadLetter
from headrace.config import Config
from headrace.errors import RunError
from headrace.plan import traits
from headrace.plan.nodes import Aggregate, Read, walk
from headrace.plan.order import waves
from headrace.plan.queries import QuerySpec
from headrace.plan.windows import Every
from headrace.runtime import failures
from headrace.spark import compile as spark_compile
from headrace.spark import jvm
from headrace.spark.columns import column
from headrace.spark.compile import Compiled, explain
from headrace.spark.decode import ADVANCE
from headrace.spark.read import inputs, memory
from headrace.spark.tables import DELETED

_SECOND = 1_000_000


@dataclass(slots=True)
class Sample:
    """Some queries, over the newest records of their sources."""

    spark: SparkSession
    connection: Connection
    config: Config
    specs: Sequence[QuerySpec]
    records: int
    """How many of the newest records of each source are read."""
    log: str = field(default_factory=lambda: uuid.uuid4().hex, init=False)
    _folder: Path = field(init=False)
    _compiled: dict[str, Compiled] = field(default_factory=dict[str, Compiled], init=False)
    _queries: list[StreamingQuery] = field(default_factory=list[StreamingQuery], init=False)

    def __enter__(self) -> Sample:
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-sample-"))
        try:
            jvm.memory_log_create(self.spark, self.log, dict.fromkeys(self.written, 1))
            for spec in self.specs:
                self._compiled[spec.name] = spark_compile.compile(spec, partial(self._read, spec), clock=self.clock)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for query in self._queries:
                query.stop()
            jvm.memory_log_drop(self.spark, self.log)
        finally:
            # Even if Spark is gone.
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def written(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for spec in self.specs for name in spec.writes))

    @property
    def clock(self) -> str:
        return f"{self.log}/"

    def start(self, spec: QuerySpec) -> StreamingQuery:
        """Runs until it is stopped. Its results go to the log in memory, as the records that a run would write."""
        return self._started(spec, self._to_log(spec))

    def rows(self, spec: QuerySpec) -> list[Any]:
        """Runs all queries to their end, and returns the rows of one of them as Arrow tables, in the order of its batches."""
        found: list[Any] = []
        rows = self._compiled[spec.name].rows
        deleted = [DELETED] if DELETED in rows.columns else []
        written = rows.select(*map(column, spec.node.columns), *deleted)

        def take(batch: DataFrame, number: int) -> None:
            found.append(cast("Any", batch).toArrow())

        for wave in waves(self.specs):
            for each in wave:
                writer = written.writeStream.foreachBatch(take) if each is spec else self._to_log(each)
                self._to_the_end(each, writer)
        return found

    def dead(self, spec: QuerySpec) -> list[DeadLetter]:
        found = self._compiled[spec.name].dead_letters
        return found.take() if found is not None else []

    def _to_log(self, spec: QuerySpec) -> DataStreamWriter:
        records = self._compiled[spec.name].records
        return records.writeStream.format(memory.FORMAT).options(log=self.log, topic=spec.writes[0])

    def _started(self, spec: QuerySpec, writer: DataStreamWriter) -> StreamingQuery:
        where = str(self._folder / spec.name)
        try:
            query = writer.outputMode(spec.mode).option("checkpointLocation", where).start()
        except PySparkException as e:
            raise RunError(f"query {spec.name!r} did not start: {explain(e)}", where=spec.where) from e
        self._queries.append(query)
        return query

    def _to_the_end(self, spec: QuerySpec, writer: DataStreamWriter) -> None:
        """Processes all that is there; then, as if no more records came, emits what waits for time to pass."""
        newest = self._ended(spec, self._started(spec, writer.trigger(availableNow=True)))
        if newest is not None and _closes(spec):
            # A bounded run takes no pulses, and the clocks of a query begin with it.
            query = self._started(spec, writer.trigger(processingTime="0 seconds"))
            self._processed(spec, query)
            for source in spec.sources:
                jvm.pulse(self.spark, self.clock + spec.pulse(source), newest + _reach(spec))
            self._processed(spec, query)
            query.stop()
        jvm.memory_log_cut(self.spark, self.log)

    def _ended(self, spec: QuerySpec, query: StreamingQuery) -> int | None:
        """Waits for the query, and returns its newest event's time, if it has any."""
        with suppress(StreamingQueryException):
            query.awaitTermination()
        self._check(spec, query)
        reports: list[dict[str, Any]] = [json.loads(report.json) for report in query.recentProgress]
        times = [report["eventTime"]["max"] for report in reports if "max" in report.get("eventTime", {})]
        return max((int(datetime.fromisoformat(time).timestamp() * _SECOND) for time in times), default=None)

    def _processed(self, spec: QuerySpec, query: StreamingQuery) -> None:
        with suppress(StreamingQueryException):
            query.processAllAvailable()
        self._check(spec, query)

    def _check(self, spec: QuerySpec, query: StreamingQuery) -> None:
        if (failure := jvm.failure(query)) is not None:
            raise failures.judge(failure, spec).error

    def _read(self, spec: QuerySpec, read: Read) -> DataFrame:
        records = self._records(read)
        # A query whose own silences close windows has its clocks already.
        return records if spec.paced else jvm.with_pulses(records, self.clock + spec.pulse(read), ADVANCE)

    def _records(self, read: Read) -> DataFrame:
        if self._inside(read):
            return memory.read(self.spark, read, self.log, self.written)
        return inputs.of(read, self.connection, self.config).newest(self.spark, self.records)

    def _inside(self, read: Read) -> bool:
        return any(read.source.reads(topic) for spec in self.specs for topic in spec.all_topics)


def _closes(spec: QuerySpec) -> bool:
    """Whether time may jump to the end: with results at intervals, every interval in between would be computed."""
    return not any(isinstance(node, Aggregate) and isinstance(node.emit, Every) for node in walk(spec.node))


def _reach(spec: QuerySpec) -> int:
    """How long after the last event the last window is final."""
    # Progress leaves out the fraction of a second.
    return traits.reach(spec.node) + max((source.lateness or 0 for source in spec.sources), default=0) + 2 * _SECOND
