"""The names of Spark's functions, known without Spark: the file beside this one, which a test compares with Spark."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from headrace.errors import PlanError, Where
from headrace.plan.nodes import Udf
from headrace.plan.spelling import closest

_GRAMMAR = {"identifier", "timestampadd", "timestampdiff", "try_cast"}
"""They look like functions and are part of Spark's grammar."""


@cache
def names() -> frozenset[str]:
    return frozenset(Path(__file__).with_name("functions.txt").read_text(encoding="utf-8").split())


def check(name: str, scope: Mapping[str, Any], where: Where) -> None:
    """The function is one of Spark's, or is marked with @hr.udf in `scope`, what the user's line sees."""
    found = scope.get(name)
    if name.lower() in names() | _GRAMMAR or isinstance(found, Udf):
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
