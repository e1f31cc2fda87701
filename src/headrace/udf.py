"""Python functions that expressions can call by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.errors import PlanError
from headrace.plan import spelling
from headrace.plan.callsite import call_site
from headrace.plan.nodes import Udf
from headrace.plan.sql import schema


@spelling.arguments
def udf(returns: object) -> Callable[[Callable[..., Any]], Udf]:
    """Marks a function for use in expressions: `@hr.udf("double")`, then `with_columns(x="f(price)")`.

    `returns` is the type of the result, as in a schema. The function gets and returns one value at a time, in Arrow
    batches; with parameters annotated `pd.Series` or `pa.Array` it gets and returns whole batches. Expressions see the
    functions that are in scope where they are written.
    """
    where = call_site().where
    if callable(returns) and not isinstance(returns, type):
        raise PlanError("@hr.udf needs the type it returns", where=where, fix='write @hr.udf("double")')
    kind = schema.returned(returns, where)
    return lambda function: Udf(function, kind, function.__name__)
