"""Tables: joins with one, joins of two, aggregates that take back, beside PySpark's own state API and beside reading alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

import headrace as hr
from bench.worker import plain_session
from headrace import jars
from headrace.broker import topics
from headrace.broker.client import Connection
from headrace.config import Config
from headrace.plan.nodes import Read
from headrace.spark.compile import compile
from headrace.spark.read import inputs
from headrace.spark.read import kafka as source
from headrace.spark.session import session

ROOT = Path(__file__).parent.parent
PARTITIONS, SIDE = 4, 100_000
LARGE = 5_000_000
ROCKSDB = (
    "spark.sql.streaming.stateStore.providerClass",
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
)
READERS = ("spark", "headrace")
KEYS = {"keyed": 1_000, "keyed-million": 1_000_000}
FOUND = {"read": 1.0, "lookup": 0.89, "read-million": 1.0, "lookup-million": 0.05}
"""Of the records, at least this many rows must come out, else one in a hundred: a join that finds nothing is fast."""


def records(topic: str, rows: int) -> Iterator[tuple[int, bytes, bytes]]:
    """Partition, key, value. In `keyed` and `keyed-million` the payload is opaque; `left`, `right` and `large` are tables."""
    dice = Random(7)
    for i in range(rows):
        if topic in KEYS:
            # By chance: in a fixed order every tenth record would have the same keys again, and the others would find no row.
            key = dice.randrange(KEYS[topic] // PARTITIONS) * PARTITIONS + i % PARTITIONS
            yield key % PARTITIONS, f"{key:07}".encode(), b"x" * 80
        else:
            # Every row of a table comes several times, with other content, and so changes.
            key = i * 7919 % (rows if topic == "large" else SIDE)
            value = f'{{"id":{key},"of":{(key + i // SIDE) % SIDE},"name":"name {i % 1000}","amount":{i % 997}}}'
            yield key % PARTITIONS, str(key).encode(), value.encode()


def fill(connection: Connection, topic: str, rows: int) -> None:
    if topics.exists(connection, topic):
        return
    print(f"producing {rows:,} records of {topic} ...", file=sys.stderr, flush=True)
    topics.create(connection, topic, partitions=PARTITIONS)
    producer = connection.producer(linger_ms=50, batch_num_messages=10_000, queue_buffering_max_messages=500_000)
    for partition, key, value in records(topic, rows):
        while True:
            try:
                producer.produce(topic, key=key, value=value, partition=partition)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def app(job: str) -> hr.App:
    app = hr.App("bench")
    if job in ("read", "read-million", "lookup", "lookup-million"):
        topic = "keyed-million" if job.endswith("million") else "keyed"
        events = app.stream(topic, format="bytes").select("_key as key", "value", "_offset as n")
        if job.startswith("read"):
            events.to("out")
        else:
            # Every tenth record is the newest row of its key; the others are joined with it.
            table = events.where("n % 10 = 0").as_table(key="key", version="n").select("key", "value as known")
            events.where("n % 10 <> 0").join(table, on="key").to("out")
        return app
    schema = "id int, of int, name string, amount int"
    left = app.table("large" if job == "large" else "left", key="id", schema=schema)
    if job == "large":
        app.stream("keyed", format="bytes").select("cast(_key as int) as id").join(left, on="id").to("out")
    elif job == "aggregate":
        left.key_by("of").agg(n="count(*)", total="sum(amount)", mean="avg(amount)", low="min(amount)", high="max(amount)").to(
            "out"
        )
    else:
        right = app.table("right", key="id", schema=schema).select("id", "name as other", "amount as price")
        left.join(right, on="id" if job == "join" else {"of": "id"}).to("out")
    return app


JOBS = {
    "join": ("join of two tables on their key", ("left", "right")),
    "foreign": ("join of two tables on a foreign key", ("left", "right")),
    "aggregate": ("count, sum, avg, min, max by group over a table", ("left",)),
}


class Rows(StatefulProcessor):
    """The join with a table as PySpark's own state API has it: rows in, rows out."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.newest = handle.getValueState("newest", "known binary")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        known = self.newest.get()
        for row in sorted(rows, key=lambda row: row.n):
            if row.n % 10 == 0:
                known = (row.value,)
            elif known is not None:
                yield Row(key=row.key, value=row.value, known=known[0])
        if known is not None:
            self.newest.update(known)

    def close(self) -> None:
        pass


class Frames(Rows):
    """The same with pandas, without a loop over rows."""

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        known = self.newest.get()
        for frame in rows:
            frame = frame.sort_values("n")
            newest = frame["value"].where(frame["n"] % 10 == 0).ffill()
            if known is not None:
                newest = newest.fillna(known[0])
            last = newest.iloc[-1]
            if isinstance(last, bytes):
                known = (last,)
            frame["known"] = newest
            frame = frame[(frame["n"] % 10 != 0) & frame["known"].notna()]
            yield frame[["key", "value", "known"]]
        if known is not None:
            self.newest.update(known)


def plain(spark: SparkSession, impl: str, job: str, address: str) -> DataFrame:
    topic = "keyed-million" if job.endswith("million") else "keyed"
    rows = spark.readStream.format("kafka").option("kafka.bootstrap.servers", address).option("subscribe", topic)
    rows = rows.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 1_000_000).load()
    groups = rows.select(F.col("key").cast("string").alias("key"), "value", F.col("offset").alias("n")).groupBy("key")
    run, join = (groups.transformWithState, Rows()) if impl == "rows" else (groups.transformWithStateInPandas, Frames())
    return run(join, outputStructType="key string, value binary, known binary", outputMode="Update", timeMode="None")


def by_spark(spark: SparkSession, topic: str, connection: Connection, batch: int) -> DataFrame:
    """The topic as `sources/kafka.py` reads it, but by Spark's own reader, which goes on after a loss."""
    records = spark.readStream.format("kafka").options(**connection.spark(), **source.FETCH, **source.IN_BATCHES)
    records = records.option("kafka.isolation.level", "read_committed").option("startingOffsets", "earliest")
    return records.option("maxOffsetsPerTrigger", batch).option("subscribe", topic).option("failOnDataLoss", "false").load()


def measure(connection: Connection, folder: Path, impl: str, job: str, passes: int) -> float:
    """The best rate of the passes after the first, in records a second; in a process of its own."""
    print(f"{job}: {impl} ...", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "bench.tables", impl, job, connection.address, str(folder), str(passes)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    least = FOUND.get(job, 0.01)
    assert all(each["given"] >= least * each["rows"] for each in found), (job, found)
    rates = [each["rows"] / each["seconds"] for each in found]
    print("  " + ", ".join(f"{rate:,.0f}/s" for rate in rates), file=sys.stderr, flush=True)
    return max(rates[1:] or rates)


def table(connection: Connection, folder: Path, rows: int) -> str:
    for topic, many in (("keyed", rows), ("keyed-million", rows), ("left", rows // 4), ("right", rows // 4), ("large", LARGE)):
        fill(connection, topic, many)
    lines = [
        f"Records a second, warm, without the cost of writing results. {rows:,} records with a payload of 80 bytes,",
        "every tenth of which changes a row of the table; the others are joined with it.",
        "",
        "| stream and table | Spark reads alone | Headrace reads alone | `transformWithState` | with pandas | Headrace joins "
        "| of Spark's reading | of ours | of that API |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for title, suffix in (("1,000 keys", ""), ("1,000,000 keys", "-million")):
        # Before and after, because a machine that others use too is not as fast at all times.
        before = [measure(connection, folder, impl, "read" + suffix, 12) for impl in READERS]
        ours = measure(connection, folder, "headrace", "lookup" + suffix, 14)
        after = [measure(connection, folder, impl, "read" + suffix, 12) for impl in READERS]
        sparks, read = (sum(rates) / 2 for rates in zip(before, after, strict=True))
        # With a million keys PySpark's API takes minutes: one pass, and not with pandas, whose frames would have a row each.
        peer = measure(connection, folder, "rows", "lookup" + suffix, 1 if suffix else 2)
        pandas = None if suffix else measure(connection, folder, "pandas", "lookup", 2)
        cells = ["" if rate is None else f"{rate / 1000:,.0f}k/s" for rate in (sparks, read, peer, pandas, ours)]
        ratios = f"**{ours / sparks:.2f}** | {ours / read:.2f} | **{ours / peer:.1f}**"
        lines.append(f"| {title} | {' | '.join(cells)} | {ratios} |")
    lines += ["", f"| changes of tables, {SIDE:,} rows on each side | changes a second |", "|---|---|"]
    for job, (title, _) in JOBS.items():
        lines.append(f"| {title} | {measure(connection, folder, 'headrace', job, 12) / 1000:,.0f}k/s |")
    large = measure(connection, folder, "headrace", "large", 1)
    lines += [
        "",
        f"State is on disk: {LARGE:,} rows of a table and {rows:,} events, a third of which come after their row,",
        f"with a driver of 2 GB, at {large / 1000:,.0f}k records/s from a cold start.",
    ]
    return "\n".join(lines)


def main() -> None:
    impl, job, address, folder, passes = sys.argv[1:]
    if impl in ("rows", "pandas"):
        spark = plain_session()
        spark.conf.set(*ROCKSDB)
        rows, mode = plain(spark, impl, job, address), "update"
    else:
        config = Config.load({}, cwd=Path(folder), environ={})
        log = config.home / "logs" / "bench.log"
        spark = session("bench", master=config.master, memory=config.driver_memory, jars=tuple(jars.connector_jars()), log=log)
        (spec,) = app(job).queries()
        connection = Connection(address)

        def read(node: Read) -> DataFrame:
            if impl == "spark":
                return by_spark(spark, node.label, connection, config.batch)
            return inputs.of(node, connection, config).records(spark)

        rows = compile(spec, read).rows
        mode = spec.mode
    for number in range(int(passes)):
        began = time.monotonic()
        place = f"{folder}/state/tables-{impl}-{job}-{number}-{os.getpid()}"
        writer = rows.writeStream.format("noop").outputMode(mode).option("checkpointLocation", place)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        seconds = time.monotonic() - began
        total = sum(report.numInputRows for report in query.recentProgress)
        given = sum(report.sink.numOutputRows for report in query.recentProgress)
        print(json.dumps({"pass": number, "seconds": seconds, "rows": total, "given": given}), flush=True)


if __name__ == "__main__":
    main()
