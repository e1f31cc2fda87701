"""Spark's JVM as a child process: what it says, what it holds, and that it does not outlive us.

pyspark starts it with a Popen that it keeps to itself until the JVM answers. A JVM whose parent gives up before that would stay
for ever.
"""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkContext, java_gateway
from pyspark.sql import SparkSession

_STOP_SECONDS = 10.0
_jvm: subprocess.Popen[bytes] | None = None


def running() -> bool:
    return _jvm is not None and _jvm.poll() is None


def ended() -> bool:
    """Whether there was one that is no more; `kill` lets another follow."""
    return _jvm is not None and _jvm.poll() is not None


@contextmanager
def started(log: Path, held: int | None) -> Generator[None]:
    """What starts in here writes to the log, and holds this file; it is killed if we are interrupted."""
    pyspark: Any = java_gateway
    plain, before = pyspark.Popen, _jvm

    def popen(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        global _jvm
        with log.open("ab") as file:
            options |= {"stdout": file, "stderr": file, "pass_fds": () if held is None else (held,)}
            process: subprocess.Popen[bytes] = plain(command, **options)
        _jvm = process
        return process

    pyspark.Popen = popen
    try:
        yield
    except BaseException:
        if _jvm is not before:
            kill()
        raise
    finally:
        pyspark.Popen = plain


def kill() -> None:
    """At once, whatever it does: for a start that is not wanted any more. Another can follow."""
    global _jvm
    if _jvm is None:
        return
    _jvm.kill()
    _jvm.wait(_STOP_SECONDS)
    _jvm = None
    context: Any = SparkContext
    context._gateway = context._jvm = context._active_spark_context = None
    session: Any = SparkSession
    session._instantiatedSession = session._activeSession = None
