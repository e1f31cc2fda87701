"""Settings: a flag over the environment over headrace.toml over the default, and each knows where it came from."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

from headrace.broker import client
from headrace.errors import ConfigError
from headrace.plan import durations

FILE = "headrace.toml"
EMBEDDED = "embedded"
ALL = "all"
NONE = "none"
MASK = "********"
SECRET = ("cluster_secret",)


class Kind(NamedTuple):
    default: str
    help: str
    expects: str
    accepts: Callable[[str], object]


def _matches(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern).fullmatch


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) < 65536


def _is_broker(text: str) -> bool:
    return text == EMBEDDED or all(
        re.fullmatch(r"\[[0-9a-fA-F:.]+\]|[^\s:,/]+", host) and _is_port(port)
        for host, _, port in (address.strip().rpartition(":") for address in text.split(","))
    )


def _is_long(text: str) -> bool:
    length = durations.parse(text)
    return length is not None and length >= 1_000_000


def size(text: str) -> int:
    """The bytes of a size such as 512m."""
    return int(text[:-1]) << {"k": 10, "m": 20, "g": 30}[text[-1].lower()]


_MEMORY = "a size such as 512m or 2g", _matches(r"[1-9]\d*[kmgKMG]")
SETTINGS: Mapping[str, Kind] = {
    "broker": Kind(EMBEDDED, "address of a Kafka broker, or embedded", "embedded or host:port[,host:port]", _is_broker),
    "port": Kind("9092", "port of the embedded broker", "a port between 1 and 65535", _is_port),
    "broker_auth": Kind(
        "none",
        "whom the embedded broker admits: every process of this machine, or those that know its password",
        "none or password",
        _matches("none|password"),
    ),
    "broker_memory": Kind("512m", "heap of the embedded broker", *_MEMORY),
    "master": Kind("local[*,4]", "Spark master; local[cores,attempts per task]", "a Spark master", _matches(r"\S+")),
    "driver_memory": Kind("2g", "heap of the Spark driver", *_MEMORY),
    "executor_memory": Kind("1g", "heap of an executor on a cluster", *_MEMORY),
    "executor_cores": Kind(ALL, "cores of an executor on a cluster", "a number above 0, or all", _matches(rf"[1-9]\d*|{ALL}")),
    "cluster_secret": Kind(
        "",
        "spark.authenticate.secret of a standalone cluster, or none",
        "the secret, or none for a cluster without authentication",
        _matches(r"\S*"),
    ),
    "state": Kind("", "where checkpoints are kept: a folder or a URL", "a folder or a URL", bool),
    "batch": Kind("1000000", "the most records in one micro-batch", "a number above 0", _matches(r"[1-9]\d*")),
    "batch_bytes": Kind("256m", "the most bytes in one micro-batch, by the size of recent records", *_MEMORY),
    "realtime_batch": Kind(
        "5 minutes",
        "time between two checkpoints in real-time mode",
        'a duration of at least 1 second, such as "5 minutes"',
        _is_long,
    ),
    "transaction_timeout": Kind(
        "5 minutes",
        "how long a batch may take to be written, and readers may wait for one whose writer is gone",
        'a duration of at least 1 second, such as "5 minutes"',
        _is_long,
    ),
}


class Setting(NamedTuple):
    """A setting as `headrace config` shows it: secrets are masked already."""

    name: str
    value: str
    origin: str


@dataclass(frozen=True, slots=True)
class Config:
    root: Path
    broker: str
    port: int
    broker_auth: str
    broker_memory: str
    master: str
    driver_memory: str
    executor_memory: str
    executor_cores: str
    cluster_secret: str = field(repr=False)
    state: str
    batch: int
    batch_bytes: str
    realtime_batch: str
    transaction_timeout: str
    kafka: Mapping[str, str] = field(repr=False)
    origins: Mapping[str, str] = field(repr=False)

    @property
    def home(self) -> Path:
        """Where Headrace keeps its own files of this project."""
        return self.root / ".headrace"

    @property
    def local_state(self) -> Path | None:
        """The folder of the state; None if it is on another file system than this disk."""
        return None if "://" in self.state else Path(self.state)

    @property
    def embedded(self) -> bool:
        return self.broker == EMBEDDED

    def connection(self, address: str) -> client.Connection:
        """The kafka settings are for named brokers; the embedded one says itself how it is reached."""
        return client.Connection(address, client.read(self.home / "broker" / client.FILE) if self.embedded else self.kafka)

    def settings(self) -> list[Setting]:
        rows = [Setting(name, self._shown(name), self.origins[name]) for name in SETTINGS]
        for name, value in sorted(self.kafka.items()):
            rows.append(Setting(f"kafka.{name}", MASK if name in client.SECRET else value, self.origins[f"kafka.{name}"]))
        return rows

    def _shown(self, name: str) -> str:
        value = str(getattr(self, name))
        return MASK if name in SECRET and value not in ("", NONE) else value

    @staticmethod
    def load(
        flags: Mapping[str, Any] | None = None, cwd: Path | None = None, environ: Mapping[str, str] | None = None
    ) -> Config:
        """Reads the settings; of `flags` (say, `vars(args)`) those that name a setting and are not None count."""
        cwd = (cwd or Path.cwd()).resolve()
        environ = os.environ if environ is None else environ
        file = next((folder / FILE for folder in (cwd, *cwd.parents) if (folder / FILE).is_file()), None)
        root = file.parent if file else cwd

        given = {name: (kind.default, "default") for name, kind in SETTINGS.items()}
        given["state"] = (str(root / ".headrace" / "state"), "default")
        if file:
            given |= _from_file(file)
        given |= _from_environment(environ, cwd)
        for name in SETTINGS:
            value = (flags or {}).get(name)
            if value is not None:
                given[name] = (_placed(name, str(value), cwd), f"flag --{name.replace('_', '-')}")

        for name, kind in SETTINGS.items():
            value, origin = given[name]
            if not kind.accepts(value):
                shown = "not usable" if name in SECRET else repr(value)
                raise ConfigError(f"{name} is {shown} ({origin})", fix=f"set it to {kind.expects}")
        origins = {name: origin for name, (_, origin) in given.items()}
        kafka = {name: value for name, (value, _) in _kafka(given).items()}
        client.check(kafka, {name: origin for name, (_, origin) in _kafka(given).items()})
        return Config(
            root=root,
            broker=given["broker"][0],
            port=int(given["port"][0]),
            broker_auth=given["broker_auth"][0],
            broker_memory=given["broker_memory"][0],
            master=given["master"][0],
            driver_memory=given["driver_memory"][0],
            executor_memory=given["executor_memory"][0],
            executor_cores=given["executor_cores"][0],
            cluster_secret=given["cluster_secret"][0],
            state=given["state"][0],
            batch=int(given["batch"][0]),
            batch_bytes=given["batch_bytes"][0],
            realtime_batch=given["realtime_batch"][0],
            transaction_timeout=given["transaction_timeout"][0],
            kafka=kafka,
            origins=origins,
        )


Given = dict[str, tuple[str, str]]


def _kafka(given: Given) -> Given:
    return {name.removeprefix("kafka."): found for name, found in given.items() if name.startswith("kafka.")}


def _from_file(file: Path) -> Given:
    try:
        text = file.read_text()
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise ConfigError(f"{file} is not TOML: {e}", fix="correct that line") from e
    given: Given = {}
    for name, value in _flat(table):
        origin = f"{FILE}:{_line(text, name)}"
        _known(name, origin)
        if isinstance(value, bool):
            value = str(value).lower()
        if not isinstance(value, str | int | float):
            raise ConfigError(f"{name} is {value!r} ({origin})", fix="set it to a text or a number")
        value = str(value)
        if name.endswith(".location"):
            value = str(file.parent / Path(value).expanduser())
        given[name] = (_placed(name, value, file.parent), origin)
    return given


def _from_environment(environ: Mapping[str, str], cwd: Path) -> Given:
    given: Given = {}
    for name in SETTINGS:
        variable = f"HEADRACE_{name.upper()}"
        if environ.get(variable):
            given[name] = (_placed(name, environ[variable], cwd), variable)
    for variable, value in environ.items():
        if variable.startswith("HEADRACE_KAFKA_") and value:
            name = "kafka." + variable.removeprefix("HEADRACE_KAFKA_").lower().replace("_", ".")
            _known(name, variable)
            given[name] = (value, variable)
    return given


def _flat(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """`a.b = 1`, `"a.b" = 1` and `[a]` with `b = 1` are the same setting."""
    rows: list[tuple[str, Any]] = []
    for key, value in table.items():
        if isinstance(value, dict):
            rows += _flat(cast("dict[str, Any]", value), f"{prefix}{key}.")
        else:
            rows.append((prefix + key, value))
    return rows


def _line(text: str, name: str) -> int:
    """The line that sets this name; tomllib does not say."""
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if heading := re.fullmatch(r"\s*\[([^\[\]]+)\]\s*(#.*)?", line):
            table = _bare(heading[1]) + "."
        elif "=" in line and table + _bare(line.split("=", 1)[0]) == name:
            return number
    return 1


def _bare(key: str) -> str:
    return re.sub(r"[\s\"']", "", key)


def _known(name: str, origin: str) -> None:
    if name.startswith("kafka."):
        kind, name, known = "Kafka setting", name.removeprefix("kafka."), list(client.ALLOWED)
    else:
        kind, known = "setting", list(SETTINGS)
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        guess = f"; did you mean {close[0]}?" if close else ""
        raise ConfigError(f"{origin}: there is no {kind} {name}{guess}", fix=f"one of {', '.join(known)}")


def _placed(name: str, value: str, base: Path) -> str:
    """A folder is taken from where it was written: the file's own, or the one we stand in. A URL of this disk is its folder."""
    if name != "state" or not value:
        return value
    if value.lower().startswith("file:"):
        value = value[len("file:") :]
        if value.startswith("//"):
            host, slash, path = value[2:].partition("/")
            if host not in ("", "localhost") or not slash:
                raise ConfigError(f"state is 'file:{value}', which names a host", fix="write file:///path, or just the path")
            value = slash + path
    return value if "://" in value else str(base / Path(value).expanduser())
