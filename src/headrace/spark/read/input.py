"""What the runtime and the testing kit know of a source while it runs; one subclass per system, listed in `inputs`.

What stays the same from run to run is in the source itself (`plan.source.Source`): names, its identity in a checkpoint, where
a record is. This is the other half, which needs Spark or a connection: does it exist, is it unchanged, how far was it read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession

from headrace.broker.client import Connection
from headrace.config import Config
from headrace.plan.nodes import Read
from headrace.plan.source import Source

Positions = dict[tuple[str, int], int]
"""By name and partition, the offset of the next record."""


@dataclass(slots=True)
class Input(ABC):
    """A source of one run."""

    reads: ClassVar[type[Source]]
    """The kind of source that it reads."""

    read: Read
    connection: Connection
    config: Config

    @abstractmethod
    def prepare(self, written: Collection[str]) -> None:
        """Raises at the user's line if something is missing; `written` are the topics that the application writes itself."""

    @abstractmethod
    def records(self, spark: SparkSession, *, realtime: bool = False) -> DataFrame:
        """The columns key, value, topic, partition, offset, timestamp and timestampType, as Spark's Kafka source has them."""

    def newest(self, spark: SparkSession, count: int) -> DataFrame:
        """As `records`, but only so many of the newest, where a source has an order. For a look: it creates nothing.

        Raises at the user's line if something is missing.
        """
        return self.records(spark)

    def check(self, spark: SparkSession, checkpoint: str, *, first: bool) -> Sequence[str]:
        """Raises at the user's line if the source changed in a way that breaks the query; returns notes for the user.

        Called before a query starts, the `first` time, and regularly while it runs.
        """
        return ()

    def identities(self) -> Mapping[str, str]:
        """Ids of what is read, by name: a changed id means that it was replaced under the same name."""
        return {}

    def partitions(self) -> int:
        """How many tasks read it at once in real-time mode."""
        return 0

    def kept(self) -> Mapping[str, int]:
        """For how many milliseconds records are kept, by name, where they are deleted at all."""
        return {}

    def begins(self, reached: Positions) -> Positions:
        """For each position that a query has reached, the first offset still there."""
        return {}

    @classmethod
    def positions(cls, reported: Any) -> Positions | None:
        """A position from Spark's progress or checkpoints, if it is of this kind."""
        return None

    @classmethod
    def lag(cls, report: Mapping[str, Any]) -> int:
        """How many records a query is behind, from Spark's progress."""
        return 0

    @classmethod
    def fed(cls, source: Source, there: Collection[str] = ()) -> list[str]:
        """The names under which its records are fed to the testing kit's log; `there` are those that exist already."""
        return [source.label]

    @classmethod
    def in_memory(cls, records: DataFrame, read: Read) -> DataFrame:
        """The testing kit's records, as those of this source."""
        return records
