"""One broker per test process: a real one, in a folder of its own."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from uuid import uuid4

import pytest

from headrace.broker import embedded
from headrace.broker.client import Connection
from headrace.config import Config


@dataclass(frozen=True)
class Broker:
    config: Config
    address: str

    @cached_property
    def connection(self) -> Connection:
        return Connection(self.address)


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
