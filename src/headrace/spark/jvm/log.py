"""The log in memory (kernel: log)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from headrace.spark.jvm.session import java


class LogRecord(NamedTuple):
    """A record of a memory log. `epoch` and `cut` identify the batch that wrote it and how far that batch had read; else -1."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    partition: int
    offset: int
    epoch: int
    cut: int


_LOG_IN = struct.Struct(">iq")

_LOG_OUT = struct.Struct(">iqqqi")

_LENGTH = struct.Struct(">i")


def _memory_log(spark: SparkSession) -> Any:
    return java(spark).headrace.kernel.log.MemoryLog


def memory_log_create(spark: SparkSession, name: str, topics: Mapping[str, int] | None = None) -> None:
    """Creates a log, and topics with so many partitions; a topic not named here has 1 from its first use on."""
    _memory_log(spark).create(name)
    for topic, partitions in (topics or {}).items():
        _memory_log(spark).createTopic(name, topic, partitions)


def memory_log_drop(spark: SparkSession, name: str) -> None:
    _memory_log(spark).drop(name)


def memory_log_append(
    spark: SparkSession, name: str, topic: str, records: Iterable[tuple[bytes | None, bytes | None, int, int]]
) -> int:
    """Appends (key, value, timestamp in microseconds, partition); readers see them after the next cut."""
    packed = bytearray()
    for key, value, timestamp, partition in records:
        packed += _LOG_IN.pack(partition, timestamp)
        for field in (key, value):
            packed += _LENGTH.pack(-1 if field is None else len(field))
            packed += field or b""
    return int(_memory_log(spark).append(name, topic, bytes(packed)))


def memory_log_advance(spark: SparkSession, name: str, topic: str, timestamp: int) -> None:
    """Appends a punctuation: a row with nothing but `advance`, which moves event time without an event."""
    _memory_log(spark).advance(name, topic, timestamp)


def memory_log_cut(spark: SparkSession, name: str) -> int:
    """Ends the interval that is to be the next batch, in all topics; returns its number."""
    return int(_memory_log(spark).cut(name))


def memory_log_size(spark: SparkSession, name: str, topic: str) -> int:
    return int(_memory_log(spark).size(name, topic))


def memory_log_records(spark: SparkSession, name: str, topic: str) -> int:
    """How many records the topic has, without punctuations."""
    return int(_memory_log(spark).records(name, topic))


def memory_log_read(spark: SparkSession, name: str, topic: str, start: int = 0) -> list[LogRecord]:
    """The topic's records in order of arrival, from the `start`-th on, cut or not; punctuations count but are left out."""
    packed = bytes(_memory_log(spark).read(name, topic, start))
    records: list[LogRecord] = []
    at = 0
    while at < len(packed):
        partition, offset, timestamp, epoch, cut = _LOG_OUT.unpack_from(packed, at)
        key, at = _field(packed, at + _LOG_OUT.size)
        value, at = _field(packed, at)
        records.append(LogRecord(key, value, timestamp, partition, offset, epoch, cut))
    return records


def _field(packed: bytes, at: int) -> tuple[bytes | None, int]:
    (length,) = _LENGTH.unpack_from(packed, at)
    start = at + _LENGTH.size
    return (None, start) if length < 0 else (packed[start : start + length], start + length)
