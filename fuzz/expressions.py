"""Random expressions: each is SQL text, as a program has it, and a Python function of a row, as the interpreter has it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]
Columns = Mapping[str, str]
WORDS = ("red", "green", "blue")


@dataclass(frozen=True, slots=True)
class Expression:
    text: str
    type: str
    value: Callable[[Row], Any] = field(compare=False)


def of_type(columns: Columns, *types: str) -> list[str]:
    return [name for name, kind in columns.items() if kind in types]


def named(name: str, kind: str) -> Expression:
    return Expression(name, kind, lambda row: row[name])


def number(chance: random.Random, columns: Columns) -> Expression:
    """A bigint, of the columns if there is a number among them."""
    names = of_type(columns, "bigint")
    if not names:
        texts = of_type(columns, "string")
        if not texts:
            return Expression("1", "bigint", lambda row: 1)
        name = chance.choice(texts)
        return Expression(f"length({name})", "bigint", lambda row: None if row[name] is None else len(row[name]))
    name, constant = chance.choice(names), chance.randint(-3, 9)
    match chance.randrange(7):
        case 0 | 1:
            return named(name, "bigint")
        case 2:
            return Expression(f"{name} + {constant}", "bigint", lambda row: _lift(lambda x: x + constant, row[name]))
        case 3:
            return Expression(f"{name} * 2 - {constant}", "bigint", lambda row: _lift(lambda x: x * 2 - constant, row[name]))
        case 4:
            return Expression(
                f"coalesce({name}, {constant})", "bigint", lambda row: constant if row[name] is None else row[name]
            )
        case 5:
            return Expression(f"pmod({name}, 4)", "bigint", lambda row: _lift(lambda x: x % 4, row[name]))
        case _:
            inner = condition(chance, columns)
            text = f"case when {inner.text} then {name} else {constant} end"
            return Expression(text, "bigint", lambda row: row[name] if inner.value(row) is True else constant)


def text(chance: random.Random, columns: Columns) -> Expression:
    names = of_type(columns, "string")
    if not names:
        return Expression("'x'", "string", lambda row: "x")
    name = chance.choice(names)
    match chance.randrange(5):
        case 0 | 1:
            return named(name, "string")
        case 2:
            return Expression(f"upper({name})", "string", lambda row: _lift(str.upper, row[name]))
        case 3:
            return Expression(f"coalesce({name}, 'none')", "string", lambda row: "none" if row[name] is None else row[name])
        case _:
            other = chance.choice(names)
            return Expression(
                f"concat({name}, '-', {other})",
                "string",
                lambda row: None if row[name] is None or row[other] is None else f"{row[name]}-{row[other]}",
            )


def condition(chance: random.Random, columns: Columns, depth: int = 3) -> Expression:
    """True, false or null, as SQL has it; others in it, so deep at most."""
    numbers, texts = of_type(columns, "bigint"), of_type(columns, "string")
    kinds = [*(["compare", "modulo", "null"] if numbers else []), *(["word", "in"] if texts else [])]
    if not kinds:
        return Expression("1 = 1", "boolean", lambda row: True)
    match chance.choice([*kinds, *(["not", "and", "or"] if depth else [])]):
        case "compare":
            name, constant = chance.choice(numbers), chance.randint(-2, 8)
            return Expression(f"{name} > {constant}", "boolean", lambda row: _lift(lambda x: x > constant, row[name]))
        case "modulo":
            name = chance.choice(numbers)
            return Expression(f"pmod({name}, 3) <> 0", "boolean", lambda row: _lift(lambda x: x % 3 != 0, row[name]))
        case "null":
            name = chance.choice(numbers)
            return Expression(f"{name} is not null", "boolean", lambda row: row[name] is not None)
        case "word":
            name, word = chance.choice(texts), chance.choice(WORDS)
            return Expression(f"{name} <> '{word}'", "boolean", lambda row: _lift(lambda x: x != word, row[name]))
        case "in":
            name = chance.choice(texts)
            return Expression(
                f"{name} in ('a', 'b', 'red')", "boolean", lambda row: _lift(lambda x: x in ("a", "b", "red"), row[name])
            )
        case "not":
            inner = condition(chance, columns, depth - 1)
            return Expression(f"not ({inner.text})", "boolean", lambda row: _lift(lambda x: not x, inner.value(row)))
        case "and":
            left, right = (condition(chance, columns, depth - 1) for _ in range(2))
            return Expression(
                f"({left.text}) and ({right.text})", "boolean", lambda row: _both(left.value(row), right.value(row))
            )
        case _:
            left, right = (condition(chance, columns, depth - 1) for _ in range(2))
            return Expression(
                f"({left.text}) or ({right.text})", "boolean", lambda row: _either(left.value(row), right.value(row))
            )


def _lift(function: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else function(value)


def _both(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _either(left: bool | None, right: bool | None) -> bool | None:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False
