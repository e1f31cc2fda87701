"""The session's JVM, and the kernel's packages in it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from py4j.java_gateway import JavaClass, JavaPackage, JVMView
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.sql import SparkSession

JavaError = Py4JError

GONE = (Py4JNetworkError, ConnectionRefusedError, ConnectionResetError)
"""What is raised once the JVM is gone."""


def java(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm  # pyright: ignore[reportPrivateUsage]


def remember_names() -> None:
    """Lets py4j look up each name once: each part of `headrace.kernel.log` is a call that searches every jar."""
    for kind in cast("tuple[Any, ...]", (JVMView, JavaPackage)):
        if not hasattr(kind.__getattr__, "__wrapped__"):
            kind.__getattr__ = _remembering(kind.__getattr__)


def _remembering(look_up: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    @wraps(look_up)
    def remembered(self: Any, name: str) -> Any:
        found = look_up(self, name)
        if isinstance(found, JavaClass | JavaPackage):
            self.__dict__[name] = found
        return found

    return remembered


def kernel(spark: SparkSession) -> Any:
    """The door to what the kernel has, by package."""
    return java(spark).headrace.kernel


def adopt(spark: SparkSession) -> None:
    """This thread works with the session that another one has started."""
    java(spark).SparkSession.setActiveSession(spark._jsparkSession)  # pyright: ignore[reportPrivateUsage]


def kernel_version(spark: SparkSession) -> str:
    return str(java(spark).headrace.kernel.Kernel.version())


def file(spark: SparkSession, url: str) -> tuple[Any, Any]:
    """Hadoop's file system of a URL, and the path in it (spark/storage.py)."""
    path = java(spark).org.apache.hadoop.fs.Path(url)
    return path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), path  # pyright: ignore
