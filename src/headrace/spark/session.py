"""The Spark session, with the settings a checkpoint depends on chosen before the first run."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspark
from pyspark import accumulators, cloudpickle
from pyspark.sql import SparkSession

from headrace import java
from headrace.app import APP_MODULE
from headrace.errors import SetupError
from headrace.jars import cache
from headrace.spark import archive, child, cluster, jvm
from headrace.spark.cluster import Cluster, cores
from headrace.version import __version__

SPARK_JARS = Path(pyspark.__file__).parent / "jars"
KERNEL = Path(__file__).parent.parent / "_kernel" / "headrace-kernel.jar"
_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {file}
appender.file.filePattern = {file}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %-5p %c{{1}}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 20MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
"""

THROUGHPUT = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
)
"""Spark plans every batch anew with much code that is called a few thousand times: by default Java would spend a core on
optimising it while records wait. What is called for each record is optimised all the same; real-time mode, in which few records
come and that would take a minute, has Java's own thresholds."""

STATE: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    "spark.sql.streaming.stateStore.rowChecksum.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage": "true",
}
"""What a checkpoint is written with, for its life."""


def session(
    name: str,
    *,
    master: str,
    memory: str = "2g",
    jars: tuple[Path, ...] = (),
    log: Path,
    java_options: tuple[str, ...] = THROUGHPUT,
    executors: Cluster | None = None,
    more: Mapping[str, str] | None = None,
    held: int | None = None,
) -> SparkSession:
    """Starts Spark, quietly: what the JVM has to say goes to the file `log`. `held` is a file that it holds open as we do."""
    executable = java.require_java()
    if not KERNEL.exists():
        raise SetupError(f"the kernel is not built: {KERNEL} is missing", fix="make setup, or install headrace from a wheel")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    log.parent.mkdir(parents=True, exist_ok=True)
    log4j = log.with_suffix(".log4j2.properties")
    log4j.write_text(_LOG4J.format(file=log))
    options = [f"-Dlog4j2.configurationFile={log4j.as_uri()}", "-XX:+UseParallelGC", *java_options]
    executors = executors or Cluster()
    local = cluster.local(master)
    classes = archive.option(cache().parent / "classes", (executable.resolve(), SPARK_JARS, KERNEL, *jars)) if local else None
    if classes is not None:
        options.append(classes)
    settings = {
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": shlex.join(options),
        "spark.sql.warehouse.dir": str(log.parent / "warehouse"),
        "spark.ui.enabled": "false",
        # Each batch is reported; a test that cuts many of them asks only once they are done.
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(cores(master)),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Otherwise PySpark looks for its caller at each call of a function; errors name the application's line.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.dataFrameQueryContext.enabled": "false",
        "spark.sql.extensions": "headrace.kernel.Extensions",
        **STATE,
        **(_local((KERNEL, *jars)) if local else _remote((KERNEL, *jars), executors, master)),
        **(more or {}),
    }
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    jvm.remember_names()
    hidden = {} if local else executors.hidden(master)
    with child.started(log, held), cluster.submitted(hidden, log.with_suffix(".conf")):
        try:
            spark = builder.getOrCreate()
        except Exception as e:
            raise SetupError(f"Spark did not start: {_first_line(e)}", fix=f"the end of {log} says more") from e
    spark.sparkContext.setLogLevel("WARN")
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        # Spark repeats there, as JSON on stderr, what it raises.
        logging.getLogger(name).disabled = True
    logging.getLogger().addFilter(_not_of_py4j)
    for server in (accumulators.AccumulatorTCPServer, accumulators.AccumulatorUnixServer):
        # Its thread prints a trace when the JVM is gone; that it is gone is told elsewhere.
        server.handle_error = _nothing  # pyright: ignore[reportAttributeAccessIssue]
    if APP_MODULE in sys.modules:
        by_value(APP_MODULE)
    check_kernel(jvm.kernel_version(spark))
    return spark


def by_value(*modules: str) -> None:
    """Python workers can't import the user's file by its name, nor what changed since they began: functions travel whole."""
    pickle: Any = cloudpickle
    for name in modules:
        pickle.register_pickle_by_value(sys.modules[name])


def _nothing(*_: Any) -> None: ...


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """py4j tells the root logger of a lost connection, trace and all, and raises it as well: once is enough."""
    return f"{os.sep}py4j{os.sep}" not in record.pathname


def _local(jars: tuple[Path, ...]) -> dict[str, str]:
    """One process on this machine: loopback only, and checkpoints on a disk that Hadoop does not slow down."""
    return {
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.hadoop.fs.file.impl": "headrace.kernel.LocalDisk",
        "spark.sql.streaming.checkpointFileManagerClass": "headrace.kernel.Checkpoints",
    }


def _remote(jars: tuple[Path, ...], executors: Cluster, master: str) -> dict[str, str]:
    return {"spark.jars": ",".join(map(str, jars)), **executors.settings(master)}


def check_kernel(found: str) -> None:
    """Python and the kernel are built together; another one would misread our rows."""
    if found != __version__:
        raise SetupError(f"the kernel is version {found}, headrace is {__version__}", fix="make setup, or reinstall headrace")


def _first_line(e: Exception) -> str:
    return str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__
