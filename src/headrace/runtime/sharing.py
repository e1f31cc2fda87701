"""One Spark for all applications of this process: who uses it, and with which settings it was started."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

from pyspark.sql import SparkSession

from headrace.errors import ConfigError
from headrace.spark import child


@dataclass(frozen=True, slots=True)
class Settings:
    """What is decided when Spark starts, and holds for all that run in it."""

    mode: str
    master: str
    driver_memory: str


@dataclass(frozen=True, slots=True, eq=False)
class User:
    """An application that runs here."""

    app: str
    settings: Settings


_lock = threading.RLock()
_users: list[User] = []
_started: tuple[Settings, Path] | None = None


@contextmanager
def using(app: str, settings: Settings) -> Generator[User]:
    """While it lasts, Spark is not restarted with other settings; refuses settings that differ from those of others."""
    user = User(app, settings)
    with _lock:
        for other in _users:
            _require_same(user, other)
        _users.append(user)
    try:
        yield user
    finally:
        with _lock:
            _users.remove(user)


@contextmanager
def visiting(name: str, wanted: Settings) -> Generator[User]:
    """For what takes any Spark: that of the applications that run here, the one that is still there, or the one wanted."""
    with _lock:
        there = _users[0].settings if _users else _started[0] if _started is not None and child.running() else wanted
        user = User(name, there)
        _users.append(user)
    try:
        yield user
    finally:
        with _lock:
            _users.remove(user)


def session(user: User, log: Path, start: Callable[[], SparkSession]) -> SparkSession:
    """The Spark of this process: that of the others, or of an earlier run, or one that starts now."""
    global _started
    with _lock:
        if child.ended() or (child.running() and _started and _started[0] != user.settings and _users == [user]):
            child.kill()
        if not child.running():
            _started = (user.settings, log)
        return start()


def log(otherwise: Path) -> Path:
    """Where the Spark of this process logs."""
    return _started[1] if _started is not None else otherwise


def give_up(user: User) -> None:
    """Ends a Spark that is not wanted any more, unless others use it."""
    # Without the lock: whoever starts Spark holds it meanwhile.
    if _users == [user]:
        child.kill()


def _require_same(user: User, other: User) -> None:
    for field in fields(Settings):
        mine, theirs = getattr(user.settings, field.name), getattr(other.settings, field.name)
        if mine != theirs:
            raise ConfigError(
                f"{user.app!r} needs a Spark with {field.name} = {mine}, and that of this process, which runs {other.app!r}, "
                f"has {theirs}",
                fix="stop that one first, use the same setting, or run one of them in another process",
            )
