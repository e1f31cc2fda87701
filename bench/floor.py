"""The floor: what a micro-batch of ten rows costs, topic to topic, when there is nothing else to do."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

from bench import latency, tables, worker
from headrace import jars
from headrace.broker import topics
from headrace.broker.client import Connection
from headrace.config import Config
from headrace.spark import ends
from headrace.spark.compile import compile
from headrace.spark.read import inputs
from headrace.spark.session import session

ROOT = Path(__file__).parent.parent
BATCHES, WARM, ROWS = 80, 40, 10
JOBS = {"count": "count per key", "join": "join with a table"}


def plain(spark: SparkSession, job: str, address: str) -> DataFrame:
    spark.conf.set(*tables.ROCKSDB)
    records = spark.readStream.format("kafka").option("kafka.bootstrap.servers", address).option("subscribe", "events")
    rows = records.load().select(F.from_json(F.col("value").cast("string"), "key string, sent long").alias("row"), "offset")
    if job == "count":
        found = rows.select("row.*").groupBy("key").count()
    else:
        # What is both event and table, as the join of bench/tables.py has it.
        rows = rows.select(
            "row.key", F.col("row.sent").cast("string").cast("binary").alias("value"), F.col("offset").alias("n")
        )
        found = rows.groupBy("key").transformWithState(
            tables.Rows(), outputStructType="key string, value binary, known binary", outputMode="Update", timeMode="None"
        )
    return found.select("key", F.to_json(F.struct("*")).alias("value"), F.lit("results").alias("topic"))


def writer(impl: str, job: str, address: str, folder: Path) -> DataStreamWriter:
    connection = Connection(address)
    if impl == "plain":
        records = plain(worker.plain_session(), job, address)
        return records.writeStream.format("kafka").option("kafka.bootstrap.servers", address).outputMode("update")
    config = Config.load({}, cwd=folder, environ={})
    log = config.home / "logs" / "bench.log"
    spark = session("bench", master=config.master, memory=config.driver_memory, jars=tuple(jars.connector_jars()), log=log)
    (spec,) = latency.JOBS[job][1]().queries()
    query = compile(spec, lambda node: inputs.of(node, connection, config).records(spark))
    return ends.at_least_once(query, connection)


def main() -> None:
    impl, job, address, folder = sys.argv[1:]
    place = f"{folder}/state/floor-{impl}-{job}"
    query = writer(impl, job, address, Path(folder)).option("checkpointLocation", place).start()
    producer = Connection(address).producer(linger_ms=0)
    found: list[float] = []
    query.processAllAvailable()
    for number in range(BATCHES):
        for i in range(ROWS):
            producer.produce(
                "events", json.dumps({"key": f"key-{i}", "sent": number}).encode(), f"key-{i}".encode(), partition=0
            )
        producer.flush()
        query.processAllAvailable()
        took = [each.durationMs["triggerExecution"] for each in query.recentProgress[-5:] if each.numInputRows]
        if number >= WARM and took:
            found.append(took[-1])
    query.stop()
    print(json.dumps({"median": statistics.median(found)}), flush=True)


def table(connection: Connection, folder: Path) -> str:
    lines = ["| a micro-batch of 10 rows, ms | plain PySpark | Headrace |", "|---|---|---|"]
    for job, title in JOBS.items():
        cells: list[str] = []
        for impl in ("plain", "headrace"):
            print(f"floor: {title}: {impl} ...", file=sys.stderr, flush=True)
            for topic in ("events", "results", "names"):
                topics.delete(connection, topic) if topics.exists(connection, topic) else None
                topics.create(connection, topic, partitions=latency.PARTITIONS)
            command = [sys.executable, "-m", "bench.floor", impl, job, connection.address, str(folder)]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
            (result,) = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
            cells.append(f"{result['median']:.0f}")
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
