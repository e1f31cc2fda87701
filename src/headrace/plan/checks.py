"""What the verbs check at the user's line, and what a node passes on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Unpack
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headrace.errors import PlanError, Where
from headrace.plan import columns
from headrace.plan.callsite import CallSite
from headrace.plan.nodes import Changed, Head, Node, Read, Udf, reads
from headrace.plan.sql import expressions, functions

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,180}")


def name(given: object, what: str, where: Where) -> str:
    if not isinstance(given, str) or not _NAME.fullmatch(given):
        raise PlanError(f"{given!r} can't be the name of the {what}", where=where, fix="use letters, digits, '.', '_' and '-'")
    return given


def topic(name: object, where: Where) -> str:
    """Kafka's rule, at the user's line: the broker would refuse the name only when the run starts."""
    if not isinstance(name, str) or not _TOPIC.fullmatch(name) or name in (".", ".."):
        raise PlanError(
            f"{name!r} is not a valid topic name",
            where=where,
            fix="use 1 to 249 letters (a-z, A-Z), digits, '.', '_' and '-', and neither '.' nor '..' alone",
        )
    return name


def same(node: Node, where: Where, udfs: tuple[Udf, ...] = (), **changed: Unpack[Changed]) -> Head:
    """What a node passes on to the next, but for what that one changes."""
    return Head(
        where=where,
        udfs=udfs,
        columns=changed.get("columns", node.columns),
        hidden=changed.get("hidden", node.hidden),
        key=changed.get("key", node.key),
        kind=changed.get("kind", node.kind),
        lateness=node.lateness,
    )


def check(node: Node, texts: Iterable[str], site: CallSite) -> tuple[Udf, ...]:
    """The columns the texts name exist; the functions they name and the user's line can see are returned."""
    found: dict[str, Udf] = {}
    scope = site.scope
    for text in texts:
        is_text(text, site.where)
        expressions.check_columns(text, node.columns, hidden=node.hidden, of=title(node), where=site.where)
        facts = expressions.facts(text)
        for name in facts.foreign:
            functions.check(name, scope, site.where)
        for call in facts.calls:
            kind = None if call.column is None else columns.known(node, call.column)
            functions.check_call(call, kind, scope, site.where)
        for name in facts.functions:
            value = scope.get(name)
            if not isinstance(value, Udf):
                continue
            if name in facts.in_lambdas:
                raise PlanError(
                    f"{name}() is a Python function, and Spark can't call one for each element of an array",
                    where=site.where,
                    fix=f"let {name}() take the whole array, or explode it first",
                )
            found[name] = value
    return tuple(found.values())


def is_text(value: object, where: Where) -> None:
    """Expressions and names of columns are; a Column of pyspark, a list and the like say what to write instead."""
    if isinstance(value, str):
        return
    if isinstance(value, list | tuple | set):
        raise PlanError(
            "expressions and columns are given one by one, not as a list",
            where=where,
            fix="put a star before the list: *columns",
        )
    if callable(getattr(value, "isNull", None)) and callable(getattr(value, "alias", None)):
        raise PlanError(
            f"{value!r} is a Column of pyspark, and expressions are SQL text",
            where=where,
            fix=f"write it as text: {_as_text(repr(value))}",
        )
    if callable(value):
        raise PlanError(
            f"{getattr(value, '__name__', value)!r} is a function, and expressions are SQL text",
            where=where,
            fix='mark it with @hr.udf("double") and call it in the text: "f(price) > 10"',
        )
    raise PlanError(f"{value!r} is not an expression", where=where, fix='expressions are SQL text: "price > 10"')


def _as_text(column: str) -> str:
    """Column<'>(v, 1)'> as "v > 1"; anything longer is left to the user."""
    simple = re.fullmatch(r"Column<'(\W+)\((\w+), ([^()]+)\)'>", column)
    return f'"{simple[2]} {simple[1]} {simple[3]}"' if simple else '"price > 10"'


def exist(node: Node, names: Sequence[str], where: Where) -> None:
    for name in names:
        is_text(name, where)
        if name not in node.columns:
            raise expressions.unknown_column(str(name), node.columns, of=title(node), where=where)


def named_well(names: tuple[str, ...], where: Where) -> tuple[str, ...]:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise PlanError(f"two columns would be called {name!r}", where=where, fix="rename one of them")
        if name.startswith("_"):
            raise PlanError(
                f"a column can't be called {name!r}: names that begin with an underscore are Headrace's own",
                where=where,
                fix="choose another name",
            )
        seen.add(name.lower())
    if not names:
        raise PlanError("no columns are left", where=where, fix="keep at least one")
    return names


def no_table(node: Node, what: str, where: Where) -> None:
    if node.kind == "table":
        raise PlanError(
            f"{what} can't follow a table", where=where, fix='write the table to a topic with to("…") and read that topic'
        )


def one_of(name: str, value: object, allowed: Sequence[str], where: Where) -> None:
    if value not in allowed:
        raise PlanError(f"{name}={value!r} is not known", where=where, fix=f"{name} is one of: {', '.join(map(repr, allowed))}")


def zone(name: object, where: Where) -> str:
    try:
        return ZoneInfo(str(name)).key
    except (ZoneInfoNotFoundError, ValueError):
        raise PlanError(f"{name!r} is not a time zone", where=where, fix='write for example zone="Europe/Berlin"') from None


def title(node: Node) -> str:
    if isinstance(node, Read):
        return f"the {node.kind} {node.label!r}"
    return f"the {node.kind} derived from {' and '.join(repr(source.label) for source in reads(node))}"
