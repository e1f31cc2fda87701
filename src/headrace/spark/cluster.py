"""A Spark cluster: what its executors get, and how they and the driver know each other."""

from __future__ import annotations

import os
import re
import secrets
import shlex
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from headrace.config import ALL, NONE, Config
from headrace.errors import ConfigError

_SECRET = "spark.authenticate.secret"
_SIMULATED = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\]")
"""This machine plays a standalone cluster: workers, cores of each, megabytes of each."""
_GUARDED = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
}
"""The driver's ports answer only to who knows the secret, and what goes over the wire is encrypted."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What executors are started with. `secret` is that of a standalone cluster."""

    memory: str = "1g"
    cores: str = ALL
    secret: str = field(default="", repr=False)

    @staticmethod
    def of(config: Config) -> Cluster:
        return Cluster(config.executor_memory, config.executor_cores, config.cluster_secret)

    def settings(self, master: str) -> dict[str, str]:
        """For a session with this master; without the secret, which must not be on a command line."""
        played = _SIMULATED.fullmatch(master)
        executors = {"spark.executor.memory": f"{played[3]}m" if played else self.memory}
        if self.cores != ALL:
            executors["spark.executor.cores"] = self.cores
        return executors | ({} if self._open(master) else _GUARDED)

    def hidden(self, master: str) -> dict[str, str]:
        """What no command line may show."""
        if _SIMULATED.fullmatch(master):
            return {_SECRET: secrets.token_hex(32)}
        return {_SECRET: self.secret} if _standalone(master) and not self._open(master) else {}

    def check(self, master: str) -> None:
        """On YARN and Kubernetes Spark hands out secrets by itself; a standalone cluster has one that was chosen for it."""
        if _standalone(master) and not self.secret:
            raise ConfigError(
                f"{master} is a standalone cluster, and cluster_secret is not set",
                fix="set HEADRACE_CLUSTER_SECRET to the spark.authenticate.secret that its master and workers have, "
                f"or to {NONE} if they have no authentication: then whoever reaches the driver's ports can run code in it",
            )

    def _open(self, master: str) -> bool:
        return _standalone(master) and self.secret == NONE


def local(master: str) -> bool:
    """Whether all of it is one process on this machine."""
    return re.match(r"local(\[|$)", master) is not None


def cores(master: str) -> int:
    """How many tasks run at once: as many partitions of state as that keep every core busy and no more."""
    if played := _SIMULATED.fullmatch(master):
        return int(played[1]) * int(played[2])
    match = re.match(r"local\[(\*|\d+)", master)
    if match is None:
        return 1 if master == "local" else 8
    return (os.cpu_count() or 1) if match[1] == "*" else int(match[1])


def _standalone(master: str) -> bool:
    return master.startswith("spark://")


@contextmanager
def submitted(hidden: Mapping[str, str], file: Path) -> Generator[None]:
    """Hands settings to the JVM that starts meanwhile, through a file that only its owner may read."""
    if not hidden:
        yield
        return
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.writelines(f"{name} {value}\n" for name, value in hidden.items())
    name = "PYSPARK_SUBMIT_ARGS"
    before = os.environ.get(name)
    arguments = shlex.join(["--properties-file", str(file), "--load-spark-defaults"])
    os.environ[name] = f"{arguments} {before or 'pyspark-shell'}"
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
