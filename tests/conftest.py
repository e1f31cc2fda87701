"""One Spark and one broker per test process: real ones."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from headrace.broker import embedded
from headrace.broker.client import Connection
from headrace.config import Config

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LONG = tuple(f"tests/{folder}/" for folder in ("spark", "sinks", "runtime", "cli", "docs", "fuzz", "faults", "examples"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first: a file stays with one worker, and the short ones fill up the end."""
    items.sort(key=lambda item: next((n for n, folder in enumerate(LONG) if item.nodeid.startswith(folder)), len(LONG)))


@dataclass(frozen=True)
class Broker:
    config: Config
    address: str

    @cached_property
    def connection(self) -> Connection:
        return Connection(self.address)


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """The testing kit's session, which is the product's."""
    from headrace.testing import driver

    return driver.spark()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    config = Config.load({"port": str(unused_port())}, cwd=tmp_path_factory.mktemp("project"), environ={})
    try:
        yield Broker(config, embedded.up(config))
    finally:
        embedded.down(config)


@pytest.fixture
def topic() -> str:
    """A name no other test uses."""
    return f"t-{uuid4().hex[:12]}"


@pytest.fixture
def free_port() -> int:
    return unused_port()


def unused_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
