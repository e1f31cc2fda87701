"""Rows in Redis, as a cache."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headrace.errors import PlanError, Where
from headrace.plan import spelling
from headrace.plan.callsite import call_site
from headrace.plan.durations import Duration, micros
from headrace.plan.nodes import Node
from headrace.plan.sink import Destination, Output, Sink
from headrace.secrets import Secret
from headrace.sinks.tables import address, mode_of

_PREFIX = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*")


@dataclass(frozen=True, kw_only=True)
class Redis(Sink):
    """See `redis`."""

    host: str
    port: int
    database: int
    tls: bool
    user: str | None
    password: Secret | None
    prefix: str
    expire: int
    """In seconds; 0 for never."""

    @property
    def label(self) -> str:
        return f"redis.{self.prefix.replace(':', '.')}"

    @property
    def written_by(self) -> Destination:
        return Destination(
            "redis.RedisDestination",
            {
                "host": self.host,
                "port": self.port,
                "database": self.database,
                "tls": self.tls,
                "user": self.user,
                "password": self.password,
                "prefix": self.prefix,
                "expire": self.expire,
            },
        )

    def reset(self, output: Output, node: Node) -> str:
        if output == "delete":
            return f"all keys {self.prefix}:* of Redis are deleted"
        return f"the keys {self.prefix}:* of Redis stay until new rows replace them; others stay for good"

    def check(self, node: Node, where: Where) -> None:
        mode_of("upsert", node, self.label, where)


@spelling.arguments
def redis(url: str, *, prefix: str, expire: Duration | None = None, password: Secret | None = None) -> Redis:
    """Writes the rows of a table as hashes, `<prefix>:<key>`: `redis("redis://localhost:6379/0", prefix="prices")`.

    A deleted row is deleted there; with `expire` so is one that has not been written for that long. Redis is a cache: rows
    that it loses are not written again until they change.
    """
    where = call_site().where
    found = address(url, ("redis", "rediss"), "redis://localhost:6379/0", password, where)
    if not re.fullmatch(r"\d{0,4}", found.path) or found.options:
        raise PlanError("a Redis URL ends with the number of a database", where=where, fix='write "redis://host:6379/0"')
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(f"{prefix!r} is not a valid prefix", where=where, fix="use letters, digits, '.', ':', '_' and '-'")
    seconds = 0 if expire is None else micros(expire, what="expire", where=where) // 1_000_000
    if expire is not None and seconds == 0:
        raise PlanError(f"expire={expire!r} is less than a second", where=where, fix='write expire="1 hour"')
    return Redis(
        host=found.host,
        port=found.port or 6379,
        database=int(found.path or 0),
        tls=found.scheme == "rediss",
        user=found.user,
        password=found.password,
        prefix=prefix,
        expire=seconds,
    )
