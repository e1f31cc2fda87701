"""Python functions that expressions can call by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.errors import PlanError
from headrace.plan import spelling
from headrace.plan.callsite import call_site
from headrace.plan.nodes import Udf


@spelling.arguments
def udf(returns: str) -> Callable[[Callable[..., Any]], Udf]:
    """Marks a function for use in expressions: `@hr.udf("double")`, then `with_columns(x="f(price)")`.

    It gets and gives one value at a time, moved in Arrow batches; with parameters annotated `pd.Series` or `pa.Array` it gets
    and gives whole batches. Expressions see the functions that are in scope where they are written.
    """
    if not isinstance(returns, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError("@hr.udf needs the type it returns", where=call_site().where, fix='write @hr.udf("double")')
    return lambda function: Udf(function, returns, function.__name__)
