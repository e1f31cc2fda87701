"""Records of topics, with the fetch sizes that make Spark's Kafka source fast (docs/performance.md)."""

from __future__ import annotations

import json
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.broker import peek, topics
from headrace.broker.client import Connection
from headrace.config import size
from headrace.errors import TopicError
from headrace.plan.nodes import HEADERS, Read
from headrace.plan.source import Source
from headrace.sources.kafka import At, Kafka, Offsets
from headrace.spark.read.input import Input, Positions

# Larger fetches are not faster: they live long enough to be copied by the garbage collector, twice.
FETCH = {"kafka.max.poll.records": "5000", "kafka.max.partition.fetch.bytes": "2097152"}
IN_BATCHES = {"kafka.fetch.min.bytes": "262144", "kafka.fetch.max.wait.ms": "20"}
AT_ONCE = {"kafka.fetch.min.bytes": "1"}
_EARLIEST = -2
_HEADERS = "array<struct<key: string, value: binary>>"
_LATEST = -1
Place = tuple[str, int]


@dataclass(slots=True)
class KafkaInput(Input):
    """The topics of a source, as they are at each call."""

    reads = Kafka
    _batch: int | None = field(default=None, init=False)

    @property
    def source(self) -> Kafka:
        return cast("Kafka", self.read.source)

    def prepare(self, written: Collection[str]) -> None:
        with self._at_the_line():
            self._require(written)
            for name in self._names() if self.read.by_log else ():
                topics.require_log_time(self.connection, name)
            self._require_start(written)

    def _require_start(self, written: Collection[str]) -> None:
        """Offsets that are not there yet will not be there either when Spark looks for them."""
        places = self.source.start.places if isinstance(self.source.start, Offsets) else ()
        for topic, partition, offset in places:
            if topic in written:
                continue
            if partition >= (count := topics.require(self.connection, topic)):
                raise TopicError(
                    f"start= names partition {partition} of {topic}, which has {count}", fix=f"they are 0 to {count - 1}"
                )
            ((_, end),) = topics.offsets(self.connection, [(topic, partition)]).values()
            if offset > end:
                raise TopicError(
                    f"start= names offset {offset} of {topic}, partition {partition}, which ends at {end}",
                    fix=f'name one up to {end}, or write start="latest"',
                )

    def identities(self) -> Mapping[str, str]:
        return topics.ids(self.connection, self._names())

    def partitions(self) -> int:
        return sum(topics.require(self.connection, name) for name in self._names())

    def kept(self) -> Mapping[str, int]:
        found = {name: topics.retention(self.connection, name) for name in self._names()}
        return {name: kept for name, kept in found.items() if kept is not None}

    def begins(self, reached: Positions) -> Positions:
        there = [place for place in reached if self.source.reads(place[0]) and topics.exists(self.connection, place[0])]
        return {place: begin for place, (begin, _) in topics.offsets(self.connection, there).items()}

    @classmethod
    def positions(cls, reported: Any) -> Positions | None:
        """{"topic": {"0": 12}}, or its text."""
        try:
            found: object = json.loads(reported) if isinstance(reported, str) else reported
        except ValueError:
            return None
        if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):  # pyright: ignore[reportUnknownVariableType]
            return None
        return {
            (topic, int(partition)): int(offset)
            for topic, partitions in cast("dict[str, dict[str, Any]]", found).items()
            for partition, offset in partitions.items()
        }

    @classmethod
    def lag(cls, report: Mapping[str, Any]) -> int:
        end, latest = cls.positions(report.get("endOffset")) or {}, cls.positions(report.get("latestOffset")) or {}
        metrics: dict[str, str] = report.get("metrics") or {}
        if "avgOffsetsBehindLatest" in metrics:
            # As of the batch's end; in real-time mode `latest` is as of its beginning.
            return round(float(metrics["avgOffsetsBehindLatest"]) * len(end))
        return sum(max(offset - end.get(place, 0), 0) for place, offset in latest.items())

    @classmethod
    def fed(cls, source: Source, there: Collection[str] = ()) -> list[str]:
        kafka = cast("Kafka", source)
        return list(kafka.topics) if kafka.pattern is None else [topic for topic in there if kafka.reads(topic)]

    @classmethod
    def in_memory(cls, records: DataFrame, read: Read) -> DataFrame:
        return records.withColumn("headers", F.lit(None).cast(_HEADERS)) if HEADERS in read.hidden else records

    def records(self, spark: SparkSession, *, realtime: bool = False) -> DataFrame:
        return read(spark, self.source, self.connection, batch=None if realtime else self._most(), start=self._start())

    def newest(self, spark: SparkSession, count: int) -> DataFrame:
        with self._at_the_line():
            self._require(())
        return read(spark, from_newest(self.source, self.connection, count), self.connection, batch=self.config.batch)

    @contextmanager
    def _at_the_line(self) -> Generator[None]:
        try:
            yield
        except TopicError as e:
            raise TopicError(e.message, where=self.read.where, fix=e.fix) from e

    def _require(self, written: Collection[str]) -> None:
        for name in self.source.topics:
            if name not in written:
                topics.require(self.connection, name)
        if self.source.pattern is not None and not self._names():
            there = [name for name in topics.names(self.connection) if not name.startswith("headrace.")]
            raise TopicError(
                f"no topic at {self.connection.address} matches {self.source.pattern!r}",
                fix=f"there are: {', '.join(there[:20])}" if there else "headrace topics create NAME",
            )

    def _names(self) -> list[str]:
        """Those that exist now."""
        there = topics.names(self.connection, internal=True)
        return [name for name in there if self.source.reads(name)]

    def _most(self) -> int:
        """How many records go into one batch: as many as `batch` says, and as `batch_bytes` has room for."""
        if self._batch is None:
            average = max((peek.average_size(self.connection, name) for name in self._names()), default=0)
            self._batch = min(self.config.batch, max(size(self.config.batch_bytes) // max(average, 1), 1))
        return self._batch

    def _start(self) -> dict[str, str]:
        return starting(self.source, {name: topics.require(self.connection, name) for name in self._asked()})

    def _asked(self) -> list[str]:
        """Given offsets, Spark requires one for every partition."""
        return list(self.source.topics) if isinstance(self.source.start, Offsets) else []


def starting(source: Kafka, partitions: Mapping[str, int]) -> dict[str, str]:
    """Spark's options for the start of a first run."""
    match source.start:
        case At(time):
            # A partition without a record that new starts at its end.
            millis = max(-(-time // 1000), 0)
            return {"startingTimestamp": str(millis), "startingOffsetsByTimestampStrategy": "latest"}
        case Offsets(places):
            return {"startingOffsets": _offsets(places, partitions, _EARLIEST)}
        case "earliest" | "latest" as start:
            return {"startingOffsets": start}


def _offsets(places: Iterable[tuple[str, int, int]], partitions: Mapping[str, int], others: int) -> str:
    """Of all partitions, those that are not named included: Spark requires each."""
    offsets = {name: dict.fromkeys(map(str, range(count)), others) for name, count in partitions.items()}
    for topic, partition, offset in places:
        offsets.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(offsets)


def _subscription(source: Kafka) -> dict[str, str]:
    return {"subscribe": ",".join(source.topics)} if source.regex is None else {"subscribePattern": f"^{source.regex}$"}


def newest(ranges: Mapping[Place, tuple[int, int]], count: int) -> Mapping[Place, int]:
    """Where to start in each partition, to read `count` records in all; `ranges` are the first and the next offset of each."""
    starts: dict[Place, int] = {}
    for done, (place, (begin, end)) in enumerate(sorted(ranges.items(), key=lambda item: item[1][1] - item[1][0])):
        share = min(end - begin, count // (len(ranges) - done))
        starts[place], count = end - share, count - share
    return starts


def from_newest(source: Kafka, connection: Connection, count: int, *, each: bool = False) -> Kafka:
    """The same source, starting at its newest records, so many in all or in `each` partition."""
    there = [name for name in topics.names(connection, internal=True) if source.reads(name)]
    places = [(name, number) for name in there for number in range(topics.require(connection, name))]
    ranges = topics.offsets(connection, places, committed=True)
    starts = {place: max(begin, end - count) for place, (begin, end) in ranges.items()} if each else newest(ranges, count)
    return replace(source, start=Offsets(tuple((*place, offset) for place, offset in starts.items())))


def bounded(
    spark: SparkSession, source: Kafka, connection: Connection, *, start: Mapping[str, str], end: Mapping[str, str]
) -> DataFrame:
    """The records committed there now, as a batch DataFrame."""
    return (
        spark.read.format("kafka")
        .options(**connection.spark(), **FETCH, **IN_BATCHES)
        .option("kafka.isolation.level", "read_committed")
        .options(**_subscription(source), **start, **end)
        # Records may be deleted during the read.
        .option("failOnDataLoss", "false")
        .option("includeHeaders", str(source.headers).lower())
        .load()
    )


def ending(source: Kafka, partitions: Mapping[str, int]) -> dict[str, str]:
    """Spark's options for the end of a bounded read: `source.start` is where it ends."""
    match source.start:
        case At(time):
            return {"endingTimestamp": str(max(-(-time // 1000), 0))}
        case Offsets(places):
            return {"endingOffsets": _offsets(places, partitions, _LATEST)}
        case _:
            return {"endingOffsets": "latest"}


def read(
    spark: SparkSession, source: Kafka, connection: Connection, *, batch: int | None, start: Mapping[str, str] | None = None
) -> DataFrame:
    """`batch` is the largest number of records in a micro-batch; None means real-time mode, which has no such bound."""
    fetch = AT_ONCE if batch is None else {**IN_BATCHES, "maxOffsetsPerTrigger": str(batch)}
    return (
        spark.readStream.format("kafka")
        .options(**connection.spark(), **FETCH, **fetch)
        .option("kafka.isolation.level", "read_committed")
        .options(**_subscription(source))
        .options(**(starting(source, {}) if start is None else start))
        .option("failOnDataLoss", "true")
        .option("includeHeaders", str(source.headers).lower())
        .load()
    )
