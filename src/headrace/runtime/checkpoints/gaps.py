"""Records that were deleted before a query read them, once someone has accepted that (`headrace skip`).

The checkpoint stays as it is. Beside it stands which offsets are gone, and the kernel's reader passes over these.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from pyspark.sql import SparkSession

from headrace.plan.queries import QuerySpec
from headrace.spark import jvm, storage
from headrace.spark.read import inputs
from headrace.spark.read.input import Input, Positions

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


def missing(spark: SparkSession, sources: Iterable[Input], place: str) -> list[Gap]:
    """What lies between the last batch that is done and the first record that is left."""
    reached = _reached(spark, place)
    begins = {key: begin for source in sources for key, begin in source.begins(reached).items()}
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


def _reached(spark: SparkSession, place: str) -> Positions:
    """The next offset of each partition after the last batch that is done, or with which the first one begins."""
    done = [int(name) for name in storage.entries(spark, f"{place}/commits") if name.isdigit()]
    if done:
        texts = [storage.read_text(spark, f"{place}/offsets/{max(done)}") or ""]
    else:
        texts = [
            storage.read_text(spark, f"{place}/sources/{name}/0") or "" for name in storage.entries(spark, f"{place}/sources")
        ]
    reached: Positions = {}
    for line in (line for text in texts for line in text.splitlines()):
        for key, offset in inputs.positions(line).items():
            reached[key] = min(offset, reached.get(key, offset))
    return reached
