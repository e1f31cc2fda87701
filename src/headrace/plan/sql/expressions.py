"""Expressions are Spark SQL text. What is known of one without Spark: the columns and functions it names."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from headrace.errors import PlanError, Where
from headrace.plan.spelling import did_you_mean
from headrace.plan.sql.calls import UNITS, Call, calls


@dataclass(frozen=True, slots=True)
class Facts:
    """Of one expression. `parsed` is False where only Spark can tell; then nothing is checked before Spark does."""

    columns: tuple[str, ...]
    functions: tuple[str, ...]
    in_lambdas: frozenset[str]
    """Functions that a lambda calls: `x -> f(x)`."""
    foreign: tuple[str, ...]
    """Functions that the parser does not know: of Python, of Spark alone, or misspelt."""
    alias: str | None
    plain: bool
    parsed: bool
    calls: tuple[Call, ...] = ()
    """Those whose arguments can be counted."""


@lru_cache(maxsize=4096)
def facts(text: str) -> Facts:
    # Here, because it takes a third of a second to import, and most commands need no expression.
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    try:
        tree = sqlglot.parse_one(text, dialect="spark")
    except (SqlglotError, RecursionError):
        return _unparsed(text)
    alias = tree.alias if isinstance(tree, exp.Alias) else tree.name if isinstance(tree, exp.Column) else None
    lambdas = list(tree.find_all(exp.Lambda))
    params = {ident.name.lower() for node in lambdas for ident in node.expressions}
    in_lambdas = frozenset(call.name for node in lambdas for call in node.find_all(exp.Anonymous))
    # `catalog.f(x)` is one of a catalog: only Spark knows those.
    foreign = [call.name for call in tree.find_all(exp.Anonymous) if not isinstance(call.parent, exp.Dot)]
    columns: list[str] = []
    for column in tree.find_all(exp.Column):
        first = column.parts[0].name
        if isinstance(column.this, exp.Star) or first.lower() in params:
            continue
        columns.append(first)
    tokens = sqlglot.tokenize(text, dialect="spark")
    functions = [token.text for token, after in pairwise(tokens) if after.text == "("]
    names = tuple(dict.fromkeys(functions))
    return Facts(
        tuple(dict.fromkeys(columns)),
        names,
        in_lambdas,
        tuple(dict.fromkeys(foreign)),
        alias,
        isinstance(tree, exp.Column),
        True,
        calls(tokens, params),
    )


def _unparsed(text: str) -> Facts:
    """What the words alone say: the parser also gives up on functions that it knows with another number of arguments."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tokens = sqlglot.tokenize(text, dialect="spark")
    except SqlglotError:
        tokens = []
    named = len(tokens) > 2 and tokens[-2].text.lower() == "as" and tokens[-1].text.isidentifier()
    counted = tuple(Call(call.name, call.arguments, None) for call in calls(tokens, ()))
    return Facts((), (), frozenset(), (), tokens[-1].text if named else None, False, False, counted)


def check_columns(text: str, columns: Sequence[str], *, hidden: Sequence[str], of: str, where: Where) -> None:
    """Every column the expression names exists, or the error lists those that do."""
    known = {name.lower() for name in (*columns, *hidden)}
    for name in facts(text).columns:
        if name.lower() not in known and name.lower() not in UNITS:
            raise unknown_column(name, columns, of=of, where=where)


def unknown_column(name: str, columns: Iterable[str], *, of: str, where: Where) -> PlanError:
    names = list(columns)
    fix = f"{did_you_mean(name, names)}its columns are: {', '.join(names)}"
    return PlanError(f"no column {name!r} in {of}", where=where, fix=fix)


def named(text: str, where: Where) -> tuple[str, str]:
    """("price * qty as total") -> ("total", "price * qty"); a plain column is its own name."""
    known = facts(text)
    if known.alias is None:
        raise PlanError(f"the expression {text!r} needs a name", where=where, fix=f'write "{text} as name" or name="{text}"')
    return known.alias, text if known.plain else text[: _alias_start(text)].rstrip()


def _alias_start(text: str) -> int:
    """Where ` as name` (or a bare trailing name) begins; the text before it is left as the user typed it."""
    import sqlglot

    tokens = sqlglot.tokenize(text, dialect="spark")
    start = tokens[-1].start
    if len(tokens) > 1 and tokens[-2].text.lower() == "as":
        start = tokens[-2].start
    return start
