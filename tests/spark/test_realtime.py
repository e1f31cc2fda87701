"""Slots of Spark for real-time mode."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.errors import SetupError
from headrace.spark import realtime


def test_every_partition_read_and_every_one_of_state_holds_a_slot() -> None:
    app = hr.App("shop")
    clicks = app.stream("clicks", schema="id long, page string")
    clicks.dedupe("id").key_by("page").count().to("counts")
    clicks.where("id > 1").to("big")
    queries = app.queries()
    partitions = {source: 4 for spec in queries for source in spec.sources}
    assert realtime.slots(queries, partitions, 3) == (4 + 3 + 3) + 4


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("local[*,4]", "local[512,4]"),
        ("local[4]", "local[512]"),
        ("local", "local[512]"),
        ("local[600,2]", "local[600,2]"),
        ("spark://m:7077", "spark://m:7077"),
    ],
)
def test_a_local_master_gets_slots_and_a_cluster_stays(given: str, made: str) -> None:
    assert realtime.master(given) == made


def test_more_partitions_than_slots_are_refused(spark: Any) -> None:
    realtime.check_slots(spark, 2)
    with pytest.raises(SetupError, match=r"needs 3 Spark slots, and local\[2,4\] has 2"):
        realtime.check_slots(spark, 3)
