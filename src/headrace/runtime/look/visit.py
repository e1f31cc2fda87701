"""Broker and Spark for something short: what already runs in this process is used, and started if it is not there."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from headrace.broker.client import Connection
from headrace.config import Config
from headrace.runtime import run, sharing
from headrace.runtime.stop import Stop


@contextmanager
def visiting(name: str, flags: Mapping[str, Any]) -> Generator[tuple[SparkSession, Connection, Config]]:
    config = Config.load(flags)
    wanted = sharing.Settings("batches", config.master, config.driver_memory)
    with sharing.visiting(name, wanted) as user:
        there = user.settings
        config = replace(config, master=there.master, driver_memory=there.driver_memory)
        mode = "realtime" if there.mode == "realtime" else "batches"
        spark, connection = run.start(user, config, _nothing, mode, stop=Stop(), lock=None)
        yield spark, connection, config


def _nothing(text: str) -> None: ...
