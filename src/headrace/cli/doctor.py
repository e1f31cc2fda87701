"""Looks at this machine: Java, Spark, the kernel, jars, broker, ports, disk. The exit code is 0 if everything is fine."""

from __future__ import annotations

import argparse
import shutil
import socket
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from headrace import jars, java
from headrace.broker import connect, embedded
from headrace.cli import columns, flags
from headrace.config import Config
from headrace.errors import HeadraceError, SetupError
from headrace.version import __version__

_LEAST_DISK = 2 * 1024**3


def arguments(parser: argparse.ArgumentParser) -> None:
    flags.setting(parser, "broker", "port")
    flags.json(parser)


def run(args: argparse.Namespace) -> int:
    config = flags.config(args)
    checks: dict[str, Callable[[Config], str]] = {
        "java": _java,
        "spark": _spark,
        "kernel": _kernel,
        "jars": _jars,
        "broker": _broker,
        "port": _port,
        "disk": _disk,
    }
    rows: list[dict[str, str]] = []
    for name, look in checks.items():
        try:
            rows.append({"part": name, "state": "ok", "detail": look(config)})
        except HeadraceError as e:
            rows.append({"part": name, "state": "WRONG", "detail": e.message + (f" — {e.fix}" if e.fix else "")})
    columns.show(rows, as_json=args.json)
    return int(any(row["state"] != "ok" for row in rows))


def _java(config: Config) -> str:
    found = java.require_java()
    return f"{java.major_version(found)} ({found})"


def _spark(config: Config) -> str:
    return f"pyspark {metadata.version('pyspark')}"


def _kernel(config: Config) -> str:
    from headrace.spark.session import KERNEL, check_kernel

    if not KERNEL.exists():
        raise SetupError(f"{KERNEL} is missing", fix="make setup, or reinstall headrace")
    with zipfile.ZipFile(KERNEL) as jar:
        check_kernel(jar.read("headrace/kernel/version.txt").decode())
    return f"{__version__} ({KERNEL})"


def _jars(config: Config) -> str:
    pins = [*jars.pins("connector"), *jars.pins("broker")]
    missing = [pin for pin in pins if not (jars.cache() / pin.filename).exists()]
    if missing:
        return f"{len(missing)} of {len(pins)} will be downloaded to {jars.cache()} at the first start"
    jars.fetch(pins)
    return f"{len(pins)} in {jars.cache()}, checksums match"


def _broker(config: Config) -> str:
    address = embedded.status(config).address if config.embedded else config.broker
    if address is None:
        return "embedded, not running: it starts with the first application"
    connect.require(config.connection(address), config.origins["broker"])
    return f"{address} answers"


def _port(config: Config) -> str:
    if not config.embedded:
        return "not needed: the broker is not embedded"
    if (status := embedded.status(config)).running:
        return f"{status.address} is the embedded broker's"
    with socket.socket() as probe:
        free = probe.connect_ex(("127.0.0.1", config.port)) != 0
    return f"{config.port} is free" if free else f"{config.port} is taken: the embedded broker will choose another"


def _disk(config: Config) -> str:
    place = next(folder for folder in (config.home, *config.home.parents) if Path(folder).exists())
    free = shutil.disk_usage(place).free
    if free < _LEAST_DISK:
        raise SetupError(f"{free / 1024**3:.1f} GiB free at {place}", fix="make room, or set `state` to another place")
    return f"{free / 1024**3:.0f} GiB free at {place}"
