"""The classes that Spark loads, kept for the next start: a third of the time until a first result is loading them.

The first JVM with some classpath writes them to a file when it ends; later ones map the file (Java's class data sharing). Java
itself checks that it fits its version and its jars, and goes on without it if not.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_KEPT = 3
"""A file has about 180 MB; there is one for each classpath, that is for each environment with Headrace in it."""


def option(folder: Path, classpath: Iterable[Path]) -> str | None:
    """For a JVM with these jars: to use the file, or to leave one. None where there can't be one."""
    # Settings of the user's own are a folder on the classpath, and Java keeps jars only.
    if "SPARK_CONF_DIR" in os.environ:
        return None
    file = folder / f"{_digest(classpath)}.jsa"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _complete(file):
            os.utime(file)
            return f"-XX:SharedArchiveFile={file}"
        _tidy(folder)
    except OSError:
        return None
    return f"-XX:ArchiveClassesAtExit={file}"


def _digest(classpath: Iterable[Path]) -> str:
    facts = [f"{path} {stat.st_size} {stat.st_mtime_ns}" for path in classpath for stat in [path.stat()]]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def _complete(file: Path) -> bool:
    """Java writes the head of the file last."""
    try:
        with file.open("rb") as opened:
            return any(opened.read(4))
    except FileNotFoundError:
        return False


def _tidy(folder: Path) -> None:
    """Room for one more, of which those that were used last stay."""
    files = sorted(folder.glob("*.jsa"), key=lambda file: file.stat().st_mtime_ns)
    for file in files[: max(len(files) - _KEPT + 1, 0)]:
        with suppress(FileNotFoundError):
            file.unlink()
