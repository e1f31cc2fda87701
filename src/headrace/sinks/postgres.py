"""Rows in a table of PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.errors import PlanError, Where
from headrace.plan import spelling
from headrace.plan.callsite import call_site
from headrace.plan.nodes import Node
from headrace.plan.sink import Destination, Output, Sink
from headrace.secrets import Secret
from headrace.sinks.tables import Mode, address, checked_mode, mode_of, reset_table, table_name

_OPTIONS: Mapping[str, str] = {
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "connect_timeout": "connectTimeout",
    "application_name": "ApplicationName",
}
"""What a URL may say besides, and what the driver calls it."""


@dataclass(frozen=True, kw_only=True)
class Postgres(Sink):
    """See `postgres`."""

    host: str
    port: int
    database: str
    user: str
    password: Secret | None
    options: tuple[tuple[str, str], ...]
    table: str
    mode: Mode | None
    create: bool

    @property
    def label(self) -> str:
        return f"postgres.{self.table}"

    @property
    def written_by(self) -> Destination:
        return Destination(
            "postgres.PostgresDestination",
            {
                "host": self.host,
                "port": self.port,
                "database": self.database,
                "options": {**dict(self.options), "user": self.user},
                "password": self.password,
                "table": self.table,
                "create": self.create,
            },
        )

    def reset(self, output: Output, node: Node) -> str:
        return reset_table(self.table, self.label, output, keyed=bool(self.key(node, node.where)))

    def check(self, node: Node, where: Where) -> None:
        self.key(node, where)

    @property
    def no_nul(self) -> bool:
        return True

    def key(self, node: Node, where: Where) -> tuple[str, ...]:
        """The key by which rows are replaced; none if they are added."""
        return node.key if mode_of(self.mode, node, self.label, where) == "upsert" else ()


@spelling.arguments
def postgres(
    url: str,
    *,
    table: str,
    mode: Mode | None = None,
    create: bool = True,
    user: str | None = None,
    password: Secret | None = None,
) -> Postgres:
    """Writes rows to a PostgreSQL table, exactly once: `postgres("postgresql://ada@db.example:5432/market", table="trades")`.

    Events of a stream are appended; a row of a table replaces the row of its key, and a deleted row is deleted there. With
    mode="upsert" results of final windows replace rows too. A missing table is created, unless `create` is False.
    """
    where = call_site().where
    found = address(url, ("postgresql", "postgres"), "postgresql://user@host:5432/database", password, where)
    unknown = next((name for name in found.options if name not in _OPTIONS), None)
    if unknown is not None:
        raise PlanError(f"the URL has an unknown option: {unknown!r}", where=where, fix=f"options are: {', '.join(_OPTIONS)}")
    if not found.path or "/" in found.path:
        raise PlanError("the URL names no database", where=where, fix='write "postgresql://user@host:5432/database"')
    name = user or found.user
    if name is None:
        raise PlanError("the URL names no user", where=where, fix='write "postgresql://user@host:5432/database", or user=')
    return Postgres(
        host=f"[{found.host}]" if ":" in found.host else found.host,
        port=found.port or 5432,
        database=found.path,
        user=name,
        password=found.password,
        options=tuple((_OPTIONS[option], value) for option, value in found.options.items()),
        table=table_name(table, where),
        mode=checked_mode(mode, where),
        create=create,
    )
