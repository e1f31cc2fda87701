"""One implementation of one job, several passes, in a process of its own; a JSON line a pass."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace import jars
from headrace.broker.client import Connection
from headrace.config import Config
from headrace.spark import ends
from headrace.spark.compile import compile
from headrace.spark.read import inputs
from headrace.spark.session import session

SCHEMA = "symbol string, price double, qty int, at timestamp"


def plain_session() -> SparkSession:
    """Spark as it comes; only the number of shuffle partitions (200) is set to the number of cores, as anybody would."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.driver.memory", "2g")
        .config("spark.jars", ",".join(map(str, jars.connector_jars())))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", os.cpu_count() or 1)
        .getOrCreate()
    )
    # Its state API warns of every key that has no state yet.
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def plain(spark: SparkSession, job: str, address: str) -> DataFrame:
    records = spark.readStream.format("kafka").option("kafka.bootstrap.servers", address)
    records = records.option("subscribe", "trades").option("startingOffsets", "earliest").load()
    rows = records.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("row")).select("row.*")
    if job == "count":
        result = rows.groupBy("symbol").count()
    elif job == "filter":
        result = rows.where("qty % 10 <> 0").groupBy("symbol").count()
    else:
        windows = rows.withWatermark("at", "10 seconds").groupBy("symbol", F.window("at", "5 seconds"))
        result = windows.agg(
            F.min("price").alias("low"), F.max("price").alias("high"), F.avg("price").alias("mean"), F.count("*").alias("n")
        )
        result = result.select("symbol", "window.start", "window.end", "low", "high", "mean", "n")
    return result.select(F.col("symbol").alias("key"), F.to_json(F.struct("*")).alias("value"))


def ours(job: str) -> hr.App:
    app = hr.App("bench")
    trades = app.stream("trades", schema=SCHEMA, time="at", lateness="10 seconds")
    keyed = trades.key_by("symbol")
    if job == "count":
        keyed.count().to("out-headrace-count")
    elif job == "filter":
        trades.where("qty % 10 <> 0").key_by("symbol").count().to("out-headrace-filter")
    else:
        windows = keyed.window(hr.tumbling("5 seconds"))
        windows.agg(low="min(price)", high="max(price)", mean="avg(price)", n="count(*)").to("out-headrace-window")
    return app


def main() -> None:
    impl, job, address, folder, passes = sys.argv[1:]
    if impl == "plain":
        spark = plain_session()
        records = plain(spark, job, address)
        writer = (
            records.writeStream.format("kafka").option("kafka.bootstrap.servers", address).option("topic", f"out-plain-{job}")
        )
        writer = writer.outputMode("update")
    else:
        config = Config.load({}, cwd=Path(folder), environ={})
        log = config.home / "logs" / "bench.log"
        spark = session("bench", master=config.master, memory=config.driver_memory, jars=tuple(jars.connector_jars()), log=log)
        (spec,) = ours(job).queries()
        connection = Connection(address)
        query = compile(spec, lambda node: inputs.of(node, connection, config).records(spark))
        writer = ends.at_least_once(query, connection)
    for number in range(int(passes)):
        began = time.monotonic()
        query = writer.option("checkpointLocation", f"{folder}/state/{impl}-{job}-{number}").trigger(availableNow=True).start()
        query.awaitTermination()
        seconds = time.monotonic() - began
        rows = sum(report.numInputRows for report in query.recentProgress)
        print(json.dumps({"pass": number, "seconds": seconds, "rows": rows}), flush=True)


if __name__ == "__main__":
    main()
