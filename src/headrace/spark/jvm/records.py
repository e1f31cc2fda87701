"""What became of a batch's records."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyspark import SparkContext
from pyspark.sql import Column, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.spark.jvm.columns import column
from headrace.spark.jvm.session import java


def note(fate: str, topic: Column, partition: Column, offset: Column, *, answer: bool) -> Column:
    """A condition with that answer, which notes the fate of the record at that place (kernel: account.Fate)."""
    place: list[Any] = [column._jc for column in (topic, partition, offset)]  # pyright: ignore
    return column(java(SparkSession.active()).headrace.kernel.account.Tally.noting(fate, answer, *place))


def emit(spark: SparkSession) -> Column:
    """A condition that holds, and counts a row of the output."""
    return column(java(spark).headrace.kernel.account.Tally.emitting())


class Account(NamedTuple):
    """What became of the records of a batch. `read` is the sum of the next four."""

    read: int
    taken: int
    filtered: int
    late: int
    bad: int
    bad_earlier: int
    """Records that became bad now and were read by an earlier batch."""
    emitted: int
    """Rows of the output."""


def account(query: StreamingQuery, batch: int) -> Account:
    """Of a batch that is done; removes the count."""
    jvm: Any = SparkContext._jvm  # pyright: ignore[reportPrivateUsage]
    return Account(*map(int, jvm.headrace.kernel.account.Account.close(query.runId, batch)))
