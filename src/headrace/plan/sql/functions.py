"""Spark's functions, known without Spark: the file beside this one, which a test compares with Spark.

A line of it: the name, how many arguments it takes (`2`, `1-3`, `1,3`, `2+`), and the kinds of column it refuses.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from headrace.errors import PlanError, Where
from headrace.plan.nodes import Udf
from headrace.plan.spelling import closest
from headrace.plan.sql import schema
from headrace.plan.sql.calls import Call

_GRAMMAR = {"identifier", "timestampadd", "timestampdiff", "try_cast"}
"""They look like functions and are part of Spark's grammar."""


_KINDS = {
    **dict.fromkeys(("tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long"), "number"),
    **dict.fromkeys(("float", "real", "double", "decimal", "dec", "numeric"), "number"),
    **dict.fromkeys(("timestamp", "timestamp_ltz", "timestamp_ntz"), "timestamp"),
    **{kind: kind for kind in ("boolean", "string", "binary", "date", "array", "map", "struct")},
}
"""The kinds of the file, by the first word of a type; one that is not here is left to Spark."""


@dataclass(frozen=True, slots=True)
class Function:
    counts: str
    """The numbers of arguments, as in the file."""
    refused: tuple[str, ...]

    def takes(self, count: int) -> bool:
        return any(self._within(part, count) for part in self.counts.split(","))

    @staticmethod
    def _within(part: str, count: int) -> bool:
        if part.endswith("+"):
            return count >= int(part[:-1])
        least, _, most = part.partition("-")
        return int(least) <= count <= int(most or least)

    @property
    def shown(self) -> str:
        """ "1 argument", "1 to 3 arguments", "at least 2 arguments"."""
        if self.counts.endswith("+") and "," not in self.counts:
            return f"at least {_arguments(self.counts[:-1])}"
        return _arguments(self.counts.replace("-", " to ").replace(",", ", ").replace("+", " or more"))


@cache
def known() -> Mapping[str, Function]:
    lines = Path(__file__).with_name("functions.txt").read_text(encoding="utf-8").splitlines()
    return {name: Function(counts, tuple(kinds)) for name, counts, *kinds in map(str.split, lines)}


def names() -> frozenset[str]:
    return frozenset(known())


def check_call(call: Call, kind: str | None, scope: Mapping[str, Any], where: Where) -> None:
    """The function takes that many arguments and, of a column of type `kind` alone, that type. What is uncertain passes."""
    found = scope.get(call.name)
    if isinstance(found, Udf):
        _check_python(found, call, where)
        return
    function = known().get(call.name.lower())
    if function is None:
        return
    if not function.takes(call.arguments):
        raise PlanError(
            f"{call.name}() takes {function.shown}, not {call.arguments}",
            where=where,
            fix=f"see {call.name.lower()} in Spark's SQL functions; a comma inside a text needs quotes around the text",
        )
    word = re.match(r"\w+", kind or "")
    if word and (plain := _KINDS.get(word[0].lower(), "")) in function.refused:
        raise PlanError(
            f"{call.name}() can't be called with {call.column!r}, which is {_a(schema.plain(kind or ''))}",
            where=where,
            fix=_converted(call, plain, function.refused),
        )


def _converted(call: Call, kind: str, refused: tuple[str, ...]) -> str:
    accepted = [each for each in dict.fromkeys(_KINDS.values()) if each not in refused]
    if kind in ("boolean", "string") and "number" in accepted:
        return f"convert it: {call.name}(cast({call.column} as {'int' if kind == 'boolean' else 'double'}))"
    return f"it can be called with: {', '.join(accepted)}"


def _check_python(udf: Udf, call: Call, where: Where) -> None:
    try:
        signature = inspect.signature(udf.function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*range(call.arguments))
    except TypeError:
        given = ", ".join(signature.parameters) or "nothing"
        raise PlanError(
            f"{call.name}() is called with {_arguments(str(call.arguments))}", where=where, fix=f"your function takes: {given}"
        ) from None


def _arguments(count: str) -> str:
    return f"{count} argument" if count == "1" else f"{count} arguments"


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def check(name: str, scope: Mapping[str, Any], where: Where) -> None:
    """The function is one of Spark's, or is marked with @hr.udf in `scope`, what the user's line sees."""
    found = scope.get(name)
    if name.lower() in known().keys() | _GRAMMAR or isinstance(found, Udf):
        return
    if callable(found):
        raise PlanError(
            f"{name}() is a plain Python function", where=where, fix='put @hr.udf("double") above it, with the type it returns'
        )
    udfs = [known for known, value in scope.items() if isinstance(value, Udf)]
    meant = closest(name, [*udfs, *names()])
    suggested = f"did you mean {meant}()? " if meant else ""
    raise PlanError(
        f"there is no function {name}()",
        where=where,
        fix=f"{suggested}expressions can call Spark's SQL functions, and yours that are marked with @hr.udf and in scope here",
    )
