"""A standalone Spark cluster on this machine: a master and workers in processes of their own, with authentication."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
SECRET = "the-secret-of-this-cluster"
_GUARDED = f"-Dspark.authenticate=true -Dspark.authenticate.secret={SECRET} -Dspark.network.crypto.enabled=true"


class Standalone:
    """`folder` has the logs and what executors write."""

    def __init__(self, folder: Path, memory: str) -> None:
        self._folder, self._memory = folder, memory
        self._parts: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self.master = self._start("master.Master", r"spark://127\.0\.0\.1:\d+", "--port", "0")

    def add_worker(self) -> None:
        """One more, with one core; returns once the master knows it."""
        self._start("worker.Worker", "Successfully registered", "--cores", "1", "--memory", self._memory, self.master)
        self.workers.append(self._parts[-1])

    def close(self) -> None:
        for part in reversed(self._parts):
            part.terminate()
            part.wait(30)

    def _start(self, what: str, shows: str, *args: str) -> str:
        log = self._folder / f"{what}-{len(self._parts)}.log"
        spark = HOME / "bin" / "spark-class"
        command = [spark, f"org.apache.spark.deploy.{what}", "--host", "127.0.0.1", "--webui-port", "0", *args]
        environment = {
            **os.environ,
            "SPARK_HOME": str(HOME),
            "SPARK_WORKER_DIR": str(self._folder),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_JAVA_OPTS": _GUARDED,
        }
        with log.open("wb") as out:
            self._parts.append(subprocess.Popen(command, env=environment, stdout=out, stderr=out, cwd=self._folder))
        while not (match := re.search(shows, log.read_text())):
            assert self._parts[-1].poll() is None, log.read_text()
            time.sleep(0.1)
        return match[0]


@contextmanager
def standalone(folder: Path, *, workers: int = 2, memory: str = "1g") -> Iterator[Standalone]:
    folder.mkdir(parents=True, exist_ok=True)
    cluster = Standalone(folder, memory)
    try:
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.close()
