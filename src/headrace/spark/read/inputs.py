"""The list of all inputs, and the questions that go to each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column

from headrace.broker.client import Connection
from headrace.config import Config
from headrace.plan.nodes import Read
from headrace.plan.source import Source
from headrace.spark.read.custom import CustomInput
from headrace.spark.read.files import FilesInput
from headrace.spark.read.input import Input, Positions
from headrace.spark.read.kafka import KafkaInput

_INPUTS: dict[type[Source], type[Input]] = {each.reads: each for each in (KafkaInput, CustomInput, FilesInput)}


def of(read: Read, connection: Connection, config: Config) -> Input:
    return kind(read.source)(read, connection, config)


def kind(source: Source) -> type[Input]:
    return _INPUTS[type(source)]


def came_from(source: Source, topic: Column) -> Column:
    """Whether a record is from this source."""
    return topic.rlike(f"^(?:{source.places})$")


def positions(reported: Any) -> Positions:
    """How far a query has read one of its sources, from Spark's progress or checkpoints; empty if that is no position."""
    found = (each.positions(reported) for each in _INPUTS.values())
    return next((each for each in found if each is not None), Positions())


def lag(report: Mapping[str, Any]) -> int:
    """How many records a query is behind in one of its sources."""
    found = (each for each in _INPUTS.values() if each.positions(report.get("endOffset")) is not None)
    return next((each.lag(report) for each in found), 0)
