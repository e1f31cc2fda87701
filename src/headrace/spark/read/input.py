"""What the runtime knows of a source: what it needs, what identifies it, how much is there, and its records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping

from pyspark.sql import DataFrame, SparkSession


class Input(ABC):
    """A source of one run."""

    @abstractmethod
    def prepare(self, written: Collection[str]) -> None:
        """Raises at the user's line if something is missing; `written` are the topics that the application writes itself."""

    @abstractmethod
    def identities(self) -> Mapping[str, str]:
        """Ids of what is read, by name: if one changes, it is something else under the same name."""

    @abstractmethod
    def partitions(self) -> int:
        """How many tasks read it at once in real-time mode."""

    @abstractmethod
    def kept(self) -> Mapping[str, int]:
        """For how many milliseconds records are kept before they are deleted, by name, where they are."""

    @abstractmethod
    def records(self, spark: SparkSession, *, realtime: bool = False) -> DataFrame:
        """The columns key, value, topic, partition, offset, timestamp and timestampType, as Spark's Kafka source has them."""

    def check(self, spark: SparkSession, checkpoint: str) -> None:
        """Raises at the user's line if what is read is not what it was; asked before a query starts, and now and then."""
        return
