"""What is read: folders, the ids of topics, offsets that are skipped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headrace.spark.jvm.failures import Stopped, failure_of
from headrace.spark.jvm.session import java


def folder_uri(spark: SparkSession, folder: str) -> str | None:
    """Under which name Spark has it; None if it is not there. Raises Stopped if Spark can't say."""
    try:
        return java(spark).headrace.kernel.file.Folder.uri(spark._jsparkSession, folder)  # pyright: ignore
    except Py4JJavaError as e:
        raise Stopped(failure_of(e.java_exception)) from e


def folder_problem(spark: SparkSession, folder: str, checkpoint: str, replaced: Mapping[str, int]) -> tuple[str, ...] | None:
    """What became of a file that a query has read or is about to: "changed", "written" or "vanished", and which; after
    "written", the time it had."""
    times = {file: str(time) for file, time in replaced.items()}
    found = java(spark).headrace.kernel.file.Folder.problem(spark._jsparkSession, folder, checkpoint, times)  # pyright: ignore
    return None if found is None else tuple(str(each) for each in found)  # pyright: ignore


def replaced_files(spark: SparkSession, folder: str, checkpoint: str) -> dict[str, int]:
    """The files that are about to be read and have another time than in the plan."""
    found = java(spark).headrace.kernel.file.Folder.replaced(spark._jsparkSession, folder, checkpoint)  # pyright: ignore
    return {str(file): int(time) for file, time in cast("Mapping[str, Any]", found).items()}


def folder_names(spark: SparkSession, folder: str, names: str) -> list[str] | None:
    """None if a file of the folder has a name that matches; otherwise some of those that are there."""
    found = java(spark).headrace.kernel.file.Folder.others(spark._jsparkSession, folder, names)  # pyright: ignore
    return None if found is None else [str(each) for each in found]  # pyright: ignore


def register_files(spark: SparkSession, places: str, options: Mapping[str, str]) -> None:
    """How files with such URIs are read, should single records be wanted."""
    java(spark).headrace.kernel.file.FileRecords.register(places, dict(options))


def expect_topics(spark: SparkSession, name: str, client: Mapping[str, str], ids: Mapping[str, str], *, planned: bool) -> None:
    """A batch counts only while the query's topics have these ids, which are compared before the kernel's sink writes it, or
    when it is `planned`, for other sinks. The thread that starts the query has to call this."""
    # librdkafka writes ids in plain Base64, Java in that of URLs.
    encoded = {topic: id.rstrip("=").replace("+", "-").replace("/", "_") for topic, id in ids.items()}
    topics = java(spark).headrace.kernel.source.TopicIds
    topics.expect(name, dict(client), encoded)
    spark.sparkContext.setLocalProperty(topics.PLANNED, name if planned else None)  # pyright: ignore[reportArgumentType]


def forget_topics(spark: SparkSession, name: str) -> None:
    java(spark).headrace.kernel.source.TopicIds.forget(name)


def skip_offsets(spark: SparkSession, query: str, gaps: Iterable[tuple[str, int, int, int]]) -> None:
    """The query with this id in its checkpoint passes over these: topic, partition, and the offsets from and up to which."""
    known = java(spark).headrace.kernel.source.Gaps
    known.forget(query)
    for gap in gaps:
        known.add(query, *gap)
