"""What sinks that hold rows have in common: tables of databases, and caches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from headrace import secrets
from headrace.errors import PlanError, Where
from headrace.plan import checks
from headrace.plan.nodes import Aggregate, Node, walk
from headrace.plan.sink import Output
from headrace.secrets import Secret

Mode = Literal["append", "upsert"]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def mode_of(mode: Mode | None, node: Node, label: str, where: Where) -> Mode:
    """Rows of a stream are added, those of a table replace the row of their key; or what the user says."""
    chosen: Mode = mode or ("upsert" if node.kind == "table" else "append")
    if chosen == "append":
        if node.kind == "table":
            raise PlanError(
                f'mode="append" is for streams, and {label} gets a table, whose rows change',
                where=where,
                fix="leave mode= out, or write the changes: table.changes().to(…)",
            )
        return chosen
    if not node.key:
        what = "this table has none: it is a single row" if node.kind == "table" else "this stream has none"
        raise PlanError(f"{label} keeps one row for each key, and {what}", where=where, fix=_key_fix(node))
    if node.kind == "stream" and not any(isinstance(below, Aggregate) for below in walk(node)):
        # Rows of one key may be in several partitions, where none is before another.
        what = f"{label} keeps the last row of each key, and a stream has no last row"
        raise PlanError(what, where=where, fix=_key_fix(node))
    if missing := [name for name in node.key if name not in node.columns]:
        raise PlanError(f"the key's column {missing[0]!r} is missing from what is written", where=where, fix="keep it")
    return chosen


def reset_table(table: str, label: str, output: Output, *, keyed: bool) -> str:
    """What a reset does to a table of a database, as a sentence."""
    if output == "delete":
        return f"all rows of the table {table} ({label}) are deleted, whoever wrote them"
    if keyed:
        return f"rows of the table {table} stay until new ones with their keys replace them; others stay for good"
    return f"all results are added to the table {table} again: it then has them twice"


def _key_fix(node: Node) -> str:
    return "group it: key_by(…) before agg(…)" if node.kind == "table" else "make a table of it: as_table(key=…)"


def table_name(table: object, where: Where) -> str:
    if not isinstance(table, str) or not _NAME.fullmatch(table):
        raise PlanError(
            f"{table!r} is not a valid table name", where=where, fix="use letters, digits and '_'; or \"schema.table\""
        )
    return table


def checked_mode(mode: object, where: Where) -> Mode | None:
    if mode is not None:
        checks.one_of("mode", mode, ("append", "upsert"), where)
    return cast("Mode | None", mode)


@dataclass(frozen=True, slots=True)
class Address:
    """A URL taken apart."""

    scheme: str
    host: str
    port: int | None
    path: str
    user: str | None
    password: Secret | None
    options: dict[str, str]


def address(url: object, schemes: tuple[str, ...], example: str, password: object, where: Where) -> Address:
    """A password is never in the text: in a URL it is `${NAME}`, a variable of the environment; or it is `password`."""
    # Without the line's text, in which a password may stand.
    bare = Where(where.file, where.line)
    secret = secrets.checked(password, "password", bare)
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        port = parts.port
    except ValueError:
        parts, port = SplitResult("", "", "", "", ""), None
    if parts.scheme not in schemes or not parts.hostname:
        raise PlanError(f"this is not a {schemes[0]} URL", where=bare, fix=f'write "{example}"')
    if parts.password:
        variable = _VARIABLE.fullmatch(parts.password)
        if variable is None:
            raise PlanError(
                "the URL contains a password",
                where=bare,
                fix='put it into an environment variable and write ${NAME} in its place, or password=hr.secret("NAME")',
            )
        if secret is not None:
            raise PlanError("there are two passwords", where=bare, fix="leave password= out, or the one in the URL")
        secret = Secret(variable[1])
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    user = unquote(parts.username) if parts.username else None
    return Address(parts.scheme, parts.hostname, port, unquote(parts.path.lstrip("/")), user, secret, options)
