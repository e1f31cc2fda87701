"""Records that were deleted before a query read them, once someone has accepted that (`headrace skip`).

The checkpoint stays as it is. Beside it stands which offsets are gone, and the kernel's reader passes over these.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from pyspark.sql import SparkSession

from headrace.broker import topics
from headrace.broker.client import Connection
from headrace.plan.queries import QuerySpec
from headrace.spark import jvm, storage

_FILE = "gaps.json"


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets of a partition, from the first up to but not including the last, that a query never read."""

    topic: str
    partition: int
    begin: int
    end: int

    def __str__(self) -> str:
        return f"topic {self.topic}, partition {self.partition}, offsets {self.begin:,} to {self.end - 1:,}"


def missing(spark: SparkSession, connection: Connection, place: str) -> list[Gap]:
    """What lies between the last batch that is done and the first record that is left."""
    reached = _reached(spark, place)
    there = [key for key in reached if topics.exists(connection, key[0])]
    begins = {key: begin for key, (begin, _) in topics.offsets(connection, there).items()}
    return [Gap(*key, reached[key], begin) for key, begin in sorted(begins.items()) if reached[key] < begin]


def known(spark: SparkSession, place: str) -> list[Gap]:
    return [Gap(**gap) for gap in json.loads(storage.read_text(spark, f"{place}/{_FILE}") or "[]")]


def note(spark: SparkSession, place: str, gaps: Sequence[Gap]) -> None:
    storage.write_text(spark, f"{place}/{_FILE}", json.dumps([asdict(gap) for gap in gaps], indent=2))


def register(spark: SparkSession, spec: QuerySpec, place: str) -> Iterator[str]:
    """Has a query that is about to start pass over its gaps; says what they are."""
    if gaps := known(spark, place):
        id = json.loads(storage.read_text(spark, f"{place}/metadata") or "{}")["id"]
        jvm.skip_offsets(spark, id, [(gap.topic, gap.partition, gap.begin, gap.end) for gap in gaps])
        for gap in gaps:
            yield f"query {spec.name!r} has a gap: {gap} were deleted before they were read"


def _reached(spark: SparkSession, place: str) -> dict[tuple[str, int], int]:
    """The next offset of each partition after the last batch that is done, or with which the first one begins."""
    done = [int(name) for name in storage.entries(spark, f"{place}/commits") if name.isdigit()]
    if done:
        texts = [storage.read_text(spark, f"{place}/offsets/{max(done)}") or ""]
    else:
        texts = [
            storage.read_text(spark, f"{place}/sources/{name}/0") or "" for name in storage.entries(spark, f"{place}/sources")
        ]
    reached: dict[tuple[str, int], int] = {}
    for line in (line for text in texts for line in text.splitlines()):
        for topic, partitions in _parsed(line).items():
            for partition, offset in cast("dict[str, Any]", partitions).items() if isinstance(partitions, dict) else ():
                if partition.isdigit() and isinstance(offset, int):
                    reached[topic, int(partition)] = min(offset, reached.get((topic, int(partition)), offset))
    return reached


def _parsed(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
