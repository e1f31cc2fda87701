"""Random aggregates: SQL text, and a Python function of the rows. All are exact: sums are of whole numbers and of quarters."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fuzz import expressions
from fuzz.expressions import Columns, Expression, Row

Over = Literal["stream", "table", "sliding"]


@dataclass(frozen=True, slots=True)
class Aggregate:
    text: str
    type: str
    value: Callable[[Sequence[Row]], Any] = field(compare=False)


COUNT = Aggregate("count(*)", "bigint", len)


def some(chance: random.Random, columns: Columns, unique: Collection[str], over: Over) -> dict[str, Aggregate]:
    """Named a0, a1 …; the first is a count or a sum, so that something is always told apart."""
    found = {"a0": chance.choice([COUNT, _sum(expressions.number(chance, columns))])}
    for number in range(1, chance.randint(1, 4)):
        found[f"a{number}"] = one(chance, columns, unique, over)
    return found


def one(chance: random.Random, columns: Columns, unique: Collection[str], over: Over) -> Aggregate:
    kinds = ["count", "countx", "sum", "sum", "min", "max", "avg", "filter", "list", "set", "minmax"]
    kinds += ["by"] if unique else []
    # Spark's streaming aggregates have no distinct; those over tables, and sliding windows, have.
    kinds += ["distinct"] if over != "stream" else []
    # A sliding window may be empty, and the quotient would be one by zero.
    kinds += ["ratio"] if over != "sliding" else []
    kinds += ["real"] if expressions.of_type(columns, "double") else []
    number = expressions.number(chance, columns)
    simple = _simple(chance, columns)
    match chance.choice(kinds):
        case "count":
            return COUNT
        case "countx":
            return Aggregate(f"count({simple.text})", "bigint", lambda rows: len(_values(simple, rows)))
        case "sum":
            return _sum(number)
        case "min":
            return Aggregate(f"min({simple.text})", simple.type, lambda rows: min(_values(simple, rows), default=None))
        case "max":
            return Aggregate(f"max({simple.text})", simple.type, lambda rows: max(_values(simple, rows), default=None))
        case "avg":
            return Aggregate(f"avg({number.text})", "double", lambda rows: _average(_values(number, rows)))
        case "filter":
            condition = expressions.condition(chance, columns)
            return Aggregate(
                f"count(*) filter (where {condition.text})",
                "bigint",
                lambda rows: sum(condition.value(row) is True for row in rows),
            )
        case "list":
            return Aggregate(
                f"sort_array(collect_list({simple.text}))", f"array<{simple.type}>", lambda rows: sorted(_values(simple, rows))
            )
        case "set":
            return Aggregate(
                f"sort_array(collect_set({simple.text}))",
                f"array<{simple.type}>",
                lambda rows: sorted(set(_values(simple, rows))),
            )
        case "minmax":
            return Aggregate(
                f"max({number.text}) - min({number.text})",
                "bigint",
                lambda rows: max(values) - min(values) if (values := _values(number, rows)) else None,
            )
        case "by":
            by, most = chance.choice(sorted(unique)), chance.choice([True, False])
            return Aggregate(
                f"{'max' if most else 'min'}_by({simple.text}, {by})",
                simple.type,
                lambda rows: _by(simple, by, most, rows),
            )
        case "distinct":
            return Aggregate(f"count(distinct {simple.text})", "bigint", lambda rows: len(set(_values(simple, rows))))
        case "real":
            name = chance.choice(expressions.of_type(columns, "double"))
            return _sum(expressions.named(name, "double"))
        case _:
            return Aggregate(
                f"sum({number.text}) / count(*)",
                "double",
                lambda rows: sum(values) / len(rows) if (values := _values(number, rows)) else None,
            )


def _sum(number: Expression) -> Aggregate:
    return Aggregate(
        f"sum({number.text})", number.type, lambda rows: sum(values) if (values := _values(number, rows)) else None
    )


def _simple(chance: random.Random, columns: Columns) -> Expression:
    """A text or a whole number: what sorts the same everywhere."""
    return chance.choice([expressions.number, expressions.text])(chance, columns)


def _values(expression: Expression, rows: Sequence[Row]) -> list[Any]:
    return [value for row in rows if (value := expression.value(row)) is not None]


def _average(values: Sequence[Any]) -> float | None:
    return sum(values) / len(values) if values else None


def _by(expression: Expression, by: str, most: bool, rows: Sequence[Row]) -> Any:
    known = [row for row in rows if row[by] is not None]
    if not known:
        return None
    return expression.value((max if most else min)(known, key=lambda row: row[by]))
