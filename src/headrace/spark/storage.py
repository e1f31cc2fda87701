"""Small files wherever checkpoints are kept: on this disk, or at a URL that Hadoop knows."""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import SparkSession

from headrace.spark import jvm

_PART = ".part"
"""A file of this name is complete, and counts if there is no other."""


def read_text(spark: SparkSession, url: str) -> str | None:
    """A small file from wherever checkpoints are kept; None if there is none."""
    system, path = jvm.file(spark, url)
    if not system.exists(path):
        _, path = jvm.file(spark, url + _PART)
        if not system.exists(path):
            return None
    try:
        stream = system.open(path)
        try:
            return bytes(stream.readAllBytes()).decode(errors="replace")
        finally:
            stream.close()
    except jvm.JavaError:
        # A file that its checksum disowns says nothing.
        return ""


def write_text(spark: SparkSession, url: str, text: str) -> None:
    """Replaces a small file as a whole; at every moment the old one or the new one is there.

    Not every file system can rename over a file.
    """
    system, path = jvm.file(spark, url)
    (_, fresh), (_, part) = jvm.file(spark, url + ".new"), jvm.file(spark, url + _PART)
    stream = system.create(fresh, True)
    stream.write(text.encode())
    stream.close()
    if system.exists(path):
        system.delete(part, False)
        system.rename(fresh, part)
        system.delete(path, False)
        system.rename(part, path)
    else:
        system.rename(fresh, path)
        system.delete(part, False)


def delete(spark: SparkSession, url: str, *, but: str | None = None) -> None:
    """A folder with all that is in it; what has the name `but` goes last."""
    system, path = jvm.file(spark, url)
    if not system.exists(path):
        return
    for status in system.listStatus(path):
        if str(status.getPath().getName()) != but:
            system.delete(status.getPath(), True)
    system.delete(path, True)


def delete_files(spark: SparkSession, url: str) -> None:
    """What Spark's sink of files has written to a folder; other files stay."""
    system, path = jvm.file(spark, url)
    if not system.exists(path):
        return
    found = system.listFiles(path, True)
    while found.hasNext():
        file = found.next().getPath()
        if str(file.getName()).startswith("part-"):
            system.delete(file, False)
    # Last: without it, readers would take all files for good.
    system.delete(jvm.file(spark, f"{url}/_spark_metadata")[1], True)


def last_number(spark: SparkSession, url: str) -> int:
    """The highest of the numbers that name files in a folder, as Spark's logs are; -1 for none."""
    system, path = jvm.file(spark, url)
    names = [str(s.getPath().getName()) for s in system.listStatus(path)] if system.exists(path) else []
    return max((int(found[1]) for name in names if (found := re.fullmatch(r"(\d+)(\.compact)?", name))), default=-1)


def folders(spark: SparkSession, url: str) -> list[str]:
    """The names of the folders in a folder."""
    return [name for name, is_folder in entries(spark, url).items() if is_folder]


def entries(spark: SparkSession, url: str) -> dict[str, bool]:
    """The names of all that is in a folder, and whether it is a folder itself."""
    system, path = jvm.file(spark, url)
    found: list[Any] = system.listStatus(path) if system.exists(path) else []
    return {str(entry.getPath().getName()): bool(entry.isDirectory()) for entry in found}
