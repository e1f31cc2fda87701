"""Everything Spark can say of an app before it runs: types, functions, what can't be done on a stream. No broker."""

from __future__ import annotations

import uuid

from headrace.app import App
from headrace.config import Config
from headrace.plan.queries import QuerySpec
from headrace.spark import jvm
from headrace.spark.compile import compile_all
from headrace.spark.read import memory
from headrace.spark.session import session


def check(app: App, config: Config) -> tuple[QuerySpec, ...]:
    """Raises the first mistake at the user's line; otherwise returns what would run."""
    specs = app.queries()
    spark = session("headrace-check", master="local[1]", memory="1g", log=config.home / "logs" / "check.log")
    log = uuid.uuid4().hex
    jvm.memory_log_create(spark, log)
    try:
        compile_all(specs, lambda source: memory.read(spark, source, log))
    finally:
        jvm.memory_log_drop(spark, log)
    return specs
