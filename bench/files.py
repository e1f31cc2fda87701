"""Files beside Spark's own readers, in one process and in turns: `python -m bench.files`. Not part of `make bench`."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import cast

import duckdb
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr
from bench import worker
from headrace import jars
from headrace.broker.client import Connection
from headrace.config import Config
from headrace.sources.files import Kind
from headrace.spark.compile import compile
from headrace.spark.read import inputs
from headrace.spark.session import THROUGHPUT, session

ROWS, FILES, PASSES = 1_000_000, 8, 4


def write(folder: Path, format: str) -> None:
    folder.mkdir()
    for number in range(FILES):
        duckdb.sql(
            f"copy (select 's' || (i % 1000) as symbol, (i % 9973) / 100 as price, (i % 100)::int as qty, "
            f"strftime(timestamp '2026-01-01' + interval (i) millisecond, '%Y-%m-%dT%H:%M:%S.%fZ')"
            f"{'::timestamptz' if format == 'parquet' else ''} as at "
            f"from range({number * ROWS // FILES}, {(number + 1) * ROWS // FILES}) t(i)) "
            f"to '{folder}/{number}.{format}' (format {format}{', header' if format == 'csv' else ''})"
        )


def plain(spark: SparkSession, folder: Path, format: str) -> DataFrame:
    reader = spark.readStream.schema(worker.SCHEMA).format(format)
    rows = reader.option("header", "true").load(str(folder)) if format == "csv" else reader.load(str(folder))
    return rows.groupBy("symbol").agg(F.count("*"), F.sum("qty"))


def ours(spark: SparkSession, folder: Path, format: str, config: Config) -> DataFrame:
    app = hr.App("bench")
    rows = app.stream(hr.sources.files(folder, format=cast("Kind", format)), schema=worker.SCHEMA)
    rows.key_by("symbol").agg(n="count(*)", qty="sum(qty)").to("out")
    (spec,) = app.queries()
    return compile(spec, lambda read: inputs.of(read, Connection("none"), config).records(spark)).rows


def passed(frame: DataFrame, checkpoint: Path) -> float:
    begun = time.perf_counter()
    query = frame.writeStream.format("noop").outputMode("update").option("checkpointLocation", str(checkpoint))
    query.trigger(availableNow=True).start().awaitTermination()
    return ROWS / (time.perf_counter() - begun)


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="headrace-bench-"))
    config = Config.load({}, cwd=folder, environ={})
    log = folder / "spark.log"
    jar = tuple(jars.connector_jars())
    spark = session("bench", master="local[2]", memory="2g", jars=jar, log=log, java_options=THROUGHPUT)
    try:
        for format in ("json", "csv", "parquet"):
            write(folder / format, format)
            best = {"plain": 0.0, "headrace": 0.0}
            for number in range(PASSES):
                for who in best:
                    data = folder / format
                    frame = plain(spark, data, format) if who == "plain" else ours(spark, data, format, config)
                    rate = passed(frame, folder / f"{format}-{who}-{number}")
                    best[who] = max(best[who], rate)
            ratio = best["headrace"] / best["plain"]
            print(json.dumps({"format": format, **{who: round(rate) for who, rate in best.items()}, "ratio": round(ratio, 2)}))
            sys.stdout.flush()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
