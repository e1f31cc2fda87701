"""Spark's real-time mode: records flow through tasks that run for a whole, long batch.

Every partition that is read, and every partition of state, holds a slot of Spark for as long as the batch lasts. On a local
master a slot is only a thread, so there are many of them, whatever the number of cores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.errors import SetupError
from headrace.plan import traits
from headrace.plan.nodes import Read, walk
from headrace.plan.queries import QuerySpec
from headrace.spark.cluster import cores

_LOCAL = re.compile(r"local(?:\[[^,\]]+(,\d+)?\])?")
SLOTS = 512


def master(given: str) -> str:
    """The master with slots for real-time mode: `local[*,4]` becomes `local[512,4]`; that of a cluster stays."""
    match = _LOCAL.fullmatch(given)
    return f"local[{max(SLOTS, cores(given))}{match[1] or ''}]" if match else given


def settings(given: str) -> Mapping[str, str]:
    """What differs from a session for micro-batches on this master."""
    return {
        # As many as for micro-batches: a checkpoint serves both.
        "spark.sql.shuffle.partitions": str(cores(given)),
        # Spark would start as many threads as there are slots.
        "spark.rpc.netty.dispatcher.numThreads": "8",
        # How long a row may wait for company before it goes from one task to the next; Spark's default is 50.
        "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "2",
        # A server for each task that writes to others; Spark would give each a thread for every core.
        "spark.rpc.io.threads": "2",
        # Checks Spark's own planning after each rule, at every checkpoint, while records wait.
        "spark.sql.lightweightPlanChangeValidation": "false",
        "spark.sql.streaming.realTimeMode.minBatchDuration": "1s",
    }


def slots(specs: Sequence[QuerySpec], partitions: Mapping[Read, int], state_partitions: int) -> int:
    """How many slots these queries hold at most, given the number of partitions of each source."""
    read = sum(partitions[source] for spec in specs for source in spec.sources)
    kept = sum(node.kind == "table" or traits.of(node).keeps for spec in specs for node in walk(spec.node))
    return read + kept * state_partitions


def check_slots(spark: SparkSession, needed: int) -> None:
    """Without a slot for each, some partitions would never be read. Of a cluster it is not known before it runs."""
    there = spark.sparkContext.master or ""
    if there.startswith("local") and cores(there) < needed:
        raise SetupError(
            f"real-time mode needs {needed} Spark slots, and {there} has {cores(there)}",
            fix=f'--master "local[{needed}]", or fewer partitions',
        )


def trigger(writer: DataStreamWriter, length: int) -> DataStreamWriter:
    """A checkpoint after each `length`, in microseconds."""
    # Its overloads lack realTime.
    return cast(Any, writer).trigger(realTime=f"{length // 1000} milliseconds")
