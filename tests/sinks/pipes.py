"""Runs an app whose queries end in sinks, over the testing kit's log, batch by batch; and dies where it is told to."""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import headrace as hr
from headrace.plan.queries import QuerySpec
from headrace.runtime import failures
from headrace.spark import ends, jvm
from headrace.spark.compile import compile
from headrace.spark.read import memory

Record = tuple[str | None, dict[str, Any] | None]


class Pipe:
    """The app's one query. Its ends are the real ones; only the log is in memory."""

    def __init__(
        self, spark: SparkSession, app: hr.App, *, partitions: int = 2, ends: Callable[[QuerySpec], list[Any]] | None = None
    ) -> None:
        (self.spec,) = app.queries()
        self.spark = self._spark = spark
        self.notes: list[str] = []
        self._log = uuid.uuid4().hex
        self._partitions = partitions
        self._ends = ends or self._its_own
        self.folder = Path(tempfile.mkdtemp(prefix="headrace-pipe-"))
        jvm.memory_log_create(spark, self._log, {source.label: partitions for source in self.spec.sources})
        self.compiled = compile(self.spec, lambda source: memory.read(spark, source, self._log))
        self._query: StreamingQuery | None = None

    def feed(self, topic: str, records: Sequence[Record]) -> Pipe:
        """Key and row; a key stays in its partition, as in a topic."""
        packed = [
            (
                None if key is None else key.encode(),
                None if row is None else json.dumps(row).encode(),
                0,
                sum((key or "").encode()) % self._partitions,
            )
            for key, row in records
        ]
        jvm.memory_log_append(self._spark, self._log, topic, packed)
        return self

    def cut(self) -> Pipe:
        jvm.memory_log_cut(self._spark, self._log)
        return self

    def start(self) -> StreamingQuery:
        """A new run: new ends, which begin by looking what is there."""
        jvm.register_sink(self._spark, self.spec.id, self._ends(self.spec))
        try:
            found = jvm.begin_sink(self._spark, self.spec.id, str(self.folder))
            self.notes += [failures.cache_note(note, self.spec) for note in found]
        except jvm.Stopped as e:
            raise failures.judge(e.failure, self.spec).error from e
        writer = self.compiled.lines.writeStream.format(jvm.SINK).option("sink", self.spec.id).outputMode(self.spec.mode)
        return writer.option("checkpointLocation", str(self.folder)).start()

    def registered(self) -> tuple[str, str]:
        """The sink's name, with new ends, and the checkpoint's place: what repair asks for."""
        jvm.register_sink(self._spark, self.spec.id, self._ends(self.spec))
        return self.spec.id, str(self.folder)

    def _its_own(self, spec: QuerySpec) -> list[Any]:
        return [ends.destination(self.compiled, sink, number) for number, sink in enumerate(spec.sinks)]

    def run(self) -> Pipe:
        """Writes all that was fed; raises what Headrace says when it can't."""
        self.cut()
        if self._query is None:
            self._query = self.start()
        query = self._query
        try:
            query.processAllAvailable()
        except Exception as e:
            self._query = None
            failure = jvm.failure(query)
            if failure is None:
                raise
            raise failures.judge(failure, self.spec).error from e
        return self

    def stop(self) -> Pipe:
        if self._query is not None:
            self._query.stop()
        self._query = None
        jvm.unregister_sink(self._spark, self.spec.id)
        return self

    def crash(self) -> Pipe:
        """Dies after the sinks have the last batch and before Spark has noted it: the next run writes it again."""
        running = self._query is not None
        self.stop()
        if not running:
            return self
        commits = sorted((self.folder / "commits").glob("[0-9]*"), key=lambda file: int(file.name))
        for file in commits[-1:]:
            file.unlink()
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        return self

    def close(self) -> None:
        self.stop()
        jvm.memory_log_drop(self._spark, self._log)
        shutil.rmtree(self.folder, ignore_errors=True)
