"""What is written: destinations and dead letters."""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from py4j.protocol import Py4JJavaError
from pyspark import java_gateway
from pyspark.sql import Column, SparkSession

from headrace.broker.records import DeadLetter
from headrace.errors import RunError
from headrace.spark.jvm.columns import column
from headrace.spark.jvm.failures import Stopped, failure_of
from headrace.spark.jvm.records import note
from headrace.spark.jvm.session import java


class DeadLetters:
    """What the tasks of a query's batches could not use."""

    def __init__(self, query: str) -> None:
        spark = SparkSession.active()
        self.java = java(spark).headrace.kernel.sink.DeadLetters.of(spark._jsparkSession, query)  # pyright: ignore

    def good(self, operator: str, cause: Column, topic: Column, partition: Column, offset: Column) -> Column:
        """A condition that holds where there is no cause, and reports the others."""
        columns: list[Any] = [column._jc for column in (cause, topic, partition, offset)]  # pyright: ignore
        dead = java(SparkSession.active()).headrace.kernel.sink.DeadLetters
        bad = note("BAD", topic, partition, offset, answer=True)
        return cause.isNull() | (bad & column(dead.good(self.java, operator, *columns)))

    def oversized(self, batch: int) -> int:
        """How many of its rows were too large for their topic; removes the count."""
        return int(self.java.oversized(batch))

    def take(self) -> list[DeadLetter]:
        """What was reported since the last call."""
        return [
            DeadLetter(dead.topic(), dead.partition(), dead.offset(), dead.operator(), dead.cause())
            for dead in self.java.take()
        ]


SINK = "headrace.kernel.sink.spark.SinkProvider"
"""The format to write with; its option `sink` is the name of one that is registered."""


class Context(NamedTuple):
    """What every destination has to know (kernel: sink.Context)."""

    sink: str
    place: int
    mark: str
    schema: str
    key: Sequence[str]


def destination(spark: SparkSession, name: str, context: Context, options: Mapping[str, Any]) -> Any:
    """An object of this class of the kernel's, which has a name below headrace.kernel.sink."""
    sinks = java(spark).headrace.kernel.sink
    known = sinks.Context(*context[:4], list(context.key))
    return sinks.Destinations.make(name, known, dict(options))


_calls = threading.Lock()


def accept_calls(spark: SparkSession) -> None:
    """From now on the JVM can call Python in this process, as foreachBatch does."""
    with _calls:
        java_gateway.ensure_callback_server_started(spark.sparkContext._gateway)  # pyright: ignore


def register_sink(spark: SparkSession, name: str, destinations: Sequence[Any]) -> None:
    """Where the next run of a query writes; what an earlier run left under this name is closed."""
    java(spark).headrace.kernel.sink.Destinations.register(name, list(destinations))


def unregister_sink(spark: SparkSession, name: str) -> None:
    java(spark).headrace.kernel.sink.Destinations.unregister(name)


def bury(spark: SparkSession, name: str, batch: int) -> None:
    """The dead letters alone, of a query whose rows another sink writes. What raises a RunError can be tried again."""
    with _in_one_sentence("the dead letters could not be written"):
        java(spark).headrace.kernel.sink.Destinations.writeDeadLetters(name, batch)


def begin_sink(spark: SparkSession, name: str, checkpoint: str) -> list[str]:
    """Compares what its destinations hold with the checkpoint; returns notes on caches that lost rows. Raises Stopped."""
    try:
        return list(java(spark).headrace.kernel.sink.Destinations.begin(name, checkpoint, spark._jsparkSession))  # pyright: ignore
    except Py4JJavaError as e:
        raise Stopped(failure_of(e.java_exception)) from e


def repair_sink(spark: SparkSession, name: str, checkpoint: str) -> list[str]:
    """Destinations that don't fit the checkpoint forget what they have; returns which."""
    with _in_one_sentence("the destinations can't be repaired"):
        return list(java(spark).headrace.kernel.sink.Destinations.repair(name, checkpoint, spark._jsparkSession))  # pyright: ignore


def forget_sink(spark: SparkSession, name: str, *, rows: bool) -> None:
    """All its destinations forget what they have, as if nothing had been written; with `rows` they delete it too."""
    with _in_one_sentence("the destinations can't be reset"):
        java(spark).headrace.kernel.sink.Destinations.forget(name, rows)


@contextmanager
def _in_one_sentence(what: str) -> Generator[None]:
    """An exception of Java's in one sentence."""
    try:
        yield
    except Py4JJavaError as e:
        message = str(cast("Any", e.java_exception).getMessage())
        message = re.sub(r"HEADRACE_WRITER [^/]*/(\S+) (lasting|transient) ", r"\1: ", message)
        raise RunError(f"{what}: {message}", fix="fix that and try again") from e
