"""The calls of functions in an expression, with the number of their arguments where that is certain.

Counted by commas, and given up wherever Spark's grammar has a form of its own: `cast(x as int)`, `trim(both from x)`,
`count(distinct a, b)`, `dateadd(DAY, 1, x)`, `f(name => x)`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

# Words that stand where a column could, as in timestampdiff(SECOND, a, b).
UNITS = {"microsecond", "millisecond", "second", "minute", "hour", "day", "dayofyear", "week", "month", "quarter", "year"}

_OPERATORS = frozenset(
    [
        "all",
        "and",
        "any",
        "between",
        "case",
        "div",
        "else",
        "end",
        "exists",
        "filter",
        "in",
        "interval",
        "is",
        "like",
        "ilike",
        "not",
        "or",
        "over",
    ]
)
_MORE = frozenset(["partition", "regexp", "rlike", "select", "some", "then", "when", "where", "within"])
_TYPES = frozenset(
    [
        "array",
        "binary",
        "char",
        "character",
        "dec",
        "decimal",
        "geography",
        "geometry",
        "map",
        "numeric",
        "struct",
        "time",
        "timestamp",
        "varchar",
    ]
)
_FORMS = frozenset(
    [
        "all",
        "as",
        "both",
        "distinct",
        "for",
        "from",
        "in",
        "into",
        "leading",
        "order",
        "placing",
        "select",
        "table",
        "to",
        "trailing",
        "using",
        "where",
        "with",
    ]
)


@dataclass(frozen=True, slots=True)
class Call:
    """A function and how many arguments it is given; `column`, if that is the only one."""

    name: str
    arguments: int
    column: str | None


def calls(tokens: Sequence[Any], bound: Collection[str]) -> tuple[Call, ...]:
    """`bound`: the parameters of lambdas, which are no columns. A name after a whole operand is an operator or a clause."""
    found: list[Call] = []
    for i, token in enumerate(tokens[:-1]):
        name = str(token.text)
        if tokens[i + 1].text != "(" or not name.isidentifier() or name.lower() in _OPERATORS | _MORE | _TYPES:
            continue
        if i and _ends_operand(tokens[i - 1]):
            continue
        counted = _arguments(tokens, i + 2)
        if counted is not None:
            only = tokens[i + 2]
            column = only.token_type.name in ("VAR", "IDENTIFIER") and tokens[i + 3].text == ")"
            free = column and str(only.text).lower() not in bound
            found.append(Call(name, counted, str(only.text) if free else None))
    return tuple(dict.fromkeys(found))


def _ends_operand(token: Any) -> bool:
    """Whether a function can't follow. After AS and `::` comes a type, after a dot a function of a catalog."""
    text = str(token.text).lower()
    if text in (")", "]", ".", "::", "as", "->>") or token.token_type.name in ("STRING", "NUMBER", "IDENTIFIER"):
        return True
    return text.isidentifier() and text not in _OPERATORS | _MORE


def _arguments(tokens: Sequence[Any], start: int) -> int | None:
    """The number of arguments from the token after `(`; None where commas don't say it."""
    depth, commas = 1, 0
    for i in range(start, len(tokens)):
        token = tokens[i]
        text = str(token.text).lower()
        word = token.token_type.name not in ("STRING", "IDENTIFIER")
        if not word:
            continue
        if text in ("=>", "::"):
            return None
        if text in ("(", "["):
            depth += 1
        elif text in (")", "]"):
            depth -= 1
            if depth == 0:
                return 0 if i == start else commas + 1
        elif depth == 1:
            if text in _FORMS:
                return None
            # A unit of time that stands alone between commas.
            alone = tokens[i - 1].text in ("(", ",") and tokens[i + 1].text in (")", ",")
            if text in UNITS and alone:
                return None
            commas += text == ","
    return None
