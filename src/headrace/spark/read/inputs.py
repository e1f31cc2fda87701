"""Which input reads a source, and which records came from it."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from headrace.broker.client import Connection
from headrace.config import Config
from headrace.plan.nodes import Read
from headrace.plan.source import Source
from headrace.sources.custom import Custom
from headrace.sources.files import Files
from headrace.sources.kafka import Kafka
from headrace.spark.read.custom import CustomInput
from headrace.spark.read.files import FilesInput
from headrace.spark.read.input import Input
from headrace.spark.read.kafka import KafkaInput


def of(read: Read, connection: Connection, config: Config) -> Input:
    match read.source:
        case Custom() as source:
            return CustomInput(read, source, connection, config, filled=source)
        case Kafka() as source:
            return KafkaInput(read, source, connection, config)
        case Files() as source:
            return FilesInput(read, source, config)
        case _:
            raise AssertionError(read.source)


def came_from(source: Source, topic: Column) -> Column:
    """Whether a record's place is in this source."""
    match source:
        case Kafka(regex=None):
            return topic.isin(*source.topics)
        case Kafka():
            return topic.rlike(f"^{source.regex}$")
        case Files():
            return topic.contains("/")
        case _:
            return F.lit(True)
