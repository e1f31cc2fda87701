from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from headrace.spark import jvm

SECOND = 1_000_000


class Log:
    """A memory log of one test, and the queries over it."""

    def __init__(self, spark: SparkSession, tmp: Path) -> None:
        self.spark, self.tmp, self.name = spark, tmp, uuid.uuid4().hex
        self.queries: list[StreamingQuery] = []
        jvm.memory_log_create(spark, self.name, {"wide": 3})

    def put(self, topic: str, *values: str, at: int = 0, partition: int = 0) -> None:
        rows = [(v[:1].encode(), v.encode(), at * SECOND, partition) for v in values]
        jvm.memory_log_append(self.spark, self.name, topic, rows)

    def cut(self) -> int:
        return jvm.memory_log_cut(self.spark, self.name)

    def advance(self, topic: str, at: int) -> None:
        jvm.memory_log_advance(self.spark, self.name, topic, at * SECOND)

    def stream(self, topic: str) -> DataFrame:
        return self.spark.readStream.format("headrace-memory").options(log=self.name, topic=topic).load()

    def start(self, rows: DataFrame, to: str, checkpoint: str = "a", mode: str = "append", now: bool = False) -> StreamingQuery:
        writer = rows.writeStream.format("headrace-memory").options(log=self.name, topic=to).outputMode(mode)
        writer = writer.option("checkpointLocation", str(self.tmp / checkpoint))
        query = (writer.trigger(availableNow=True) if now else writer).start()
        self.queries.append(query)
        return query

    def run(self, rows: DataFrame, to: str, checkpoint: str = "a", mode: str = "append") -> None:
        assert self.start(rows, to, checkpoint, mode, now=True).awaitTermination(60)

    def read(self, topic: str) -> list[jvm.LogRecord]:
        return jvm.memory_log_read(self.spark, self.name, topic)

    def values(self, topic: str) -> list[str]:
        return [(r.value or b"").decode() for r in self.read(topic)]

    def batches(self, topic: str, by: str = "epoch") -> dict[int, list[str]]:
        found: dict[int, list[str]] = defaultdict(list)
        for r in self.read(topic):
            found[getattr(r, by)].append((r.value or b"").decode())
        return {k: sorted(v) for k, v in found.items()}


@pytest.fixture
def log(spark: SparkSession, tmp_path: Path) -> Iterator[Log]:
    it = Log(spark, tmp_path)
    yield it
    for query in it.queries:
        query.stop()
    jvm.memory_log_drop(spark, it.name)


@pytest.fixture(params=["processAllAvailable", "availableNow"])
def process(request: pytest.FixtureRequest, log: Log) -> Callable[[DataFrame, str], None]:
    """Runs a query over what is there, in each of Spark's two ways."""

    def run(rows: DataFrame, to: str) -> None:
        if request.param == "availableNow":
            log.run(rows, to)
        else:
            log.start(rows, to).processAllAvailable()

    return run


def copy(rows: DataFrame) -> DataFrame:
    return rows.select("key", "value")


def counts(rows: DataFrame) -> DataFrame:
    counted = rows.groupBy("key").count()
    return counted.select(
        "key", F.concat(F.col("key").cast("string"), F.lit("="), F.col("count").cast("string")).alias("value")
    )


def test_the_columns_are_those_of_kafka_and_advance(log: Log) -> None:
    columns = log.stream("in").dtypes
    assert columns == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
        ("advance", "timestamp"),
    ]


def test_a_record_is_read_with_its_place_and_time(log: Log) -> None:
    log.put("wide", "a", "b", at=3, partition=2)
    place = F.concat_ws(" ", "topic", "partition", "offset", F.unix_seconds("timestamp"), "timestampType", "advance")
    log.run(log.stream("wide").select(place.alias("value")), "out")
    assert log.values("out") == ["wide 2 0 3 1", "wide 2 1 3 1"]


def test_batches_are_the_intervals_between_cuts(log: Log, process: Callable[[DataFrame, str], None]) -> None:
    for interval in (["a1", "a2"], ["b1"], ["c1", "c2", "c3"]):
        log.put("in", *interval)
        log.cut()
    process(copy(log.stream("in")), "out")
    assert log.batches("out") == {0: ["a1", "a2"], 1: ["b1"], 2: ["c1", "c2", "c3"]}


def test_two_topics_step_from_cut_to_cut_together(log: Log, process: Callable[[DataFrame, str], None]) -> None:
    log.put("left", "l1")
    log.cut()
    log.put("wide", "r2", partition=1)
    log.cut()
    log.put("left", "l3")
    log.put("wide", "r3", partition=2)
    log.cut()
    process(copy(log.stream("left").union(log.stream("wide"))), "out")
    assert log.batches("out") == {0: ["l1"], 1: ["r2"], 2: ["l3", "r3"]}


def test_a_cut_made_while_spark_asks_the_sources_waits_for_the_next_round(log: Log) -> None:
    java = log.spark.sparkContext._jvm
    options = java.org.apache.spark.sql.util.CaseInsensitiveStringMap

    def source(topic: str, n: int):
        table = java.headrace.kernel.log.MemoryLogSource().getTable(None, None, None)
        scan = table.newScanBuilder(options({"log": log.name, "topic": topic})).build()
        return scan.toMicroBatchStream(f"{log.tmp}/sources/{n}")

    def ask(stream, start: str) -> str | None:
        answer = stream.latestOffset(stream.deserializeOffset(start), None)
        return answer and answer.json()

    left, right = source("left", 0), source("right", 1)
    beginning = left.initialOffset().json()
    assert ask(left, beginning) is None
    log.put("left", "l1")
    log.put("right", "r1")
    log.cut()
    assert ask(right, beginning) is None
    assert ask(left, beginning) == ask(right, beginning) == '{"cut":1,"positions":[1]}'


def test_what_is_not_cut_is_not_read_by_a_running_query(log: Log) -> None:
    query = log.start(copy(log.stream("in")), "out")
    log.put("in", "a")
    query.processAllAvailable()
    assert log.values("out") == []
    log.cut()
    query.processAllAvailable()
    assert log.values("out") == ["a"]


def test_available_now_closes_the_open_interval_and_ends_there(log: Log) -> None:
    log.put("in", "a")
    log.cut()
    log.put("in", "b")
    log.run(copy(log.stream("in")), "out")
    assert log.batches("out") == {0: ["a"], 1: ["b"]}


def test_a_cut_that_brings_nothing_to_anybody_is_an_empty_batch(log: Log) -> None:
    query = log.start(copy(log.stream("in")), "out")
    log.put("in", "a")
    log.cut()
    log.cut()
    log.put("in", "b")
    log.cut()
    query.processAllAvailable()
    assert log.batches("out") == {0: ["a"], 2: ["b"]}


def test_a_cut_that_brings_nothing_to_the_query_is_passed_over(log: Log) -> None:
    log.put("in", "a")
    log.cut()
    log.put("elsewhere", "x")
    log.cut()
    log.put("in", "b")
    log.cut()
    log.run(copy(log.stream("in")), "out")
    assert log.batches("out") == {0: ["a"], 1: ["b"]}


def test_an_output_names_the_cut_its_batch_had_read_up_to(log: Log) -> None:
    log.put("in", "a")
    first = log.cut()
    log.put("elsewhere", "x")
    log.cut()
    log.put("in", "b")
    third = log.cut()
    log.run(copy(log.stream("in")), "out")
    assert log.batches("out", by="cut") == {first: ["a"], third: ["b"]}


def test_a_query_continues_where_it_stopped(log: Log, process: Callable[[DataFrame, str], None]) -> None:
    log.put("in", "a")
    log.cut()
    process(copy(log.stream("in")), "out")
    for query in log.queries:
        query.stop()
    for value in "bc":
        log.put("in", value)
        log.cut()
    process(copy(log.stream("in")), "out")
    assert log.batches("out") == {0: ["a"], 1: ["b"], 2: ["c"]}


def test_a_replayed_batch_reads_the_same_rows_and_writes_nothing_twice(log: Log) -> None:
    for interval in (["a1", "a2"], ["b1", "a3"]):
        log.put("in", *interval)
        log.cut()
    log.run(counts(log.stream("in")), "out", mode="update")
    before = log.read("out")
    for file in (log.tmp / "a" / "commits").glob("*1*"):
        file.unlink()
    log.put("in", "a4")
    log.cut()
    log.run(counts(log.stream("in")), "out", mode="update")
    assert log.read("out")[: len(before)] == before
    assert log.batches("out") == {0: ["a=2"], 1: ["a=3", "b=1"], 2: ["a=4"]}


def test_a_replayed_batch_does_not_take_in_what_came_since(log: Log) -> None:
    log.put("in", "a")
    log.cut()
    log.run(copy(log.stream("in")), "out")
    for file in (log.tmp / "a" / "commits").glob("*"):
        file.unlink()
    log.put("in", "b")
    log.cut()
    seen: list[list[str]] = []
    rows = log.stream("in")
    again = rows.writeStream.option("checkpointLocation", str(log.tmp / "a")).trigger(availableNow=True)
    again.foreachBatch(
        lambda batch, _: seen.append([bytes(r.value).decode() for r in batch.collect()])
    ).start().awaitTermination(60)
    assert seen == [["a"], ["b"]]


def test_advance_moves_the_watermark_and_closes_a_window(log: Log) -> None:
    rows = log.stream("in").withColumn("time", F.coalesce("advance", "timestamp")).withWatermark("time", "0 seconds")
    # Without the barrier the filter is pushed below the watermark, which then never sees a punctuation.
    events = rows.observe(uuid.uuid4().hex, F.count(F.lit(1))).where("advance is null")
    counted = events.groupBy(F.window("time", "10 seconds")).count()
    query = log.start(counted.select(F.col("count").cast("string").alias("value")), "out")
    log.put("in", "a", "b", at=5)
    log.cut()
    query.processAllAvailable()
    assert log.values("out") == []
    log.advance("in", at=10)
    log.cut()
    query.processAllAvailable()
    assert log.values("out") == ["2"]


def test_punctuations_are_not_read_back(log: Log) -> None:
    log.put("in", "a")
    log.advance("in", at=9)
    log.put("in", "b")
    assert [(r.value, r.offset) for r in log.read("in")] == [(b"a", 0), (b"b", 2)]


def test_a_query_reads_what_another_writes_an_epoch_a_batch(log: Log) -> None:
    for interval in (["a1", "a2"], ["b1"]):
        log.put("in", *interval)
        log.cut()
    log.put("in", "begun")  # A commit must not publish what has only been begun elsewhere.
    first = log.start(copy(log.stream("in")), "middle", "first")
    second = log.start(copy(log.stream("middle")), "out", "second")
    first.processAllAvailable()
    second.processAllAvailable()
    assert log.batches("middle") == {0: ["a1", "a2"], 1: ["b1"]}
    assert log.batches("out") == {0: ["a1", "a2"], 1: ["b1"]}
    log.cut()
    first.processAllAvailable()
    second.processAllAvailable()
    assert log.batches("out")[2] == ["begun"]


def test_a_chain_comes_to_rest_without_batches_of_nothing(log: Log) -> None:
    log.put("in", "a")
    log.cut()
    first = log.start(copy(log.stream("in")), "middle", "first")
    second = log.start(copy(log.stream("middle")), "out", "second")
    for _ in range(3):
        first.processAllAvailable()
        second.processAllAvailable()
    assert [p.batchId for q in (first, second) for p in q.recentProgress if p.numInputRows or p.batchId > 0] == [0, 0]


def test_a_query_may_read_its_own_output(log: Log) -> None:
    log.put("ring", "aaa")
    log.cut()
    shorter = log.stream("ring").select(F.expr("substring(cast(value as string), 2)").alias("value")).where("value != ''")
    log.start(shorter, "ring").processAllAvailable()
    assert log.values("ring") == ["aaa", "aa", "a"]


def test_update_mode_appends_what_changed(log: Log, process: Callable[[DataFrame, str], None]) -> None:
    for interval in (["a1", "a2", "b1"], ["a3"]):
        log.put("in", *interval)
        log.cut()
    query = log.start(counts(log.stream("in")), "out", mode="update")
    query.processAllAvailable()
    assert log.batches("out") == {0: ["a=2", "b=1"], 1: ["a=3"]}


def test_keys_are_dealt_to_partitions_as_kafka_deals_them(log: Log) -> None:
    # The hashes are those of UtilsTest.testMurmur2 in Kafka.
    hashes = {"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536, "abc": 479470107}
    jvm.memory_log_append(log.spark, log.name, "in", [*((k.encode(), b"", 0, 0) for k in hashes), (None, b"", 0, 0)])
    log.run(copy(log.stream("in")), "wide")
    dealt = [(k.encode(), (h & 0x7FFFFFFF) % 3) for k, h in hashes.items()]
    assert [(r.key, r.partition) for r in log.read("wide")] == [*dealt, (None, 0)]


def test_the_column_topic_overrides_the_option(log: Log) -> None:
    log.put("in", "a", "b")
    topic = F.when(F.col("key") == F.lit(b"a"), "alpha").alias("topic")
    log.run(log.stream("in").select(F.col("value").cast("string"), topic), "rest")
    assert (log.values("alpha"), log.values("rest")) == (["a"], ["b"])


def test_an_output_carries_the_time_of_its_row_or_the_clock_of_the_log(log: Log) -> None:
    log.put("in", "a", at=7)
    log.put("in", "b", at=5)
    log.run(log.stream("in").select("value", "timestamp"), "kept", "kept")
    log.run(log.stream("in").select("value"), "plain", "plain")
    assert [r.timestamp for r in log.read("kept")] == [7 * SECOND, 5 * SECOND]
    assert [r.timestamp for r in log.read("plain")] == [7 * SECOND, 7 * SECOND]


def test_a_column_it_cannot_write_is_named(log: Log) -> None:
    log.put("in", "a")
    with pytest.raises(Exception, match=r"cannot write column 'offset' BIGINT; it takes key and value"):
        log.run(log.stream("in").select("value", "offset"), "out")


def test_a_log_that_does_not_exist_is_named_with_those_that_do(log: Log) -> None:
    with pytest.raises(Exception, match=rf"no memory log 'nowhere'; existing logs: .*{log.name}"):
        jvm.memory_log_read(log.spark, "nowhere", "in")


def test_a_hundred_thousand_records_go_in_and_out_as_they_are(log: Log) -> None:
    rows = [(b"key-%d" % (i % 1000), b'{"price": %d, "symbol": "ABC"}' % i, i, i % 3) for i in range(100_000)]
    assert jvm.memory_log_append(log.spark, log.name, "wide", rows) == 100_000
    back = log.read("wide")
    assert [(r.key, r.value, r.timestamp, r.partition) for r in back] == rows
    assert jvm.memory_log_size(log.spark, log.name, "wide") == 100_000
