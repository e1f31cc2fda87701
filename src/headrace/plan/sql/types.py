"""Types as Spark's DDL has them ("string", "array<int>"), checked without Spark, and what else is taken for one."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from headrace.plan.spelling import closest

NOT_NULL = " NOT NULL"

_NESTED = ("array", "map", "struct")
_NUMBERS = ("tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long", "float", "real", "double")
_DECIMALS = ("decimal", "dec", "numeric")
_TEXTS = ("string", "char", "character", "varchar", "binary")
_TIMES = ("date", "time", "timestamp", "timestamp_ltz", "timestamp_ntz", "interval")
NAMES = (*_TEXTS, *_NUMBERS, *_DECIMALS, *_TIMES, *_NESTED, "boolean", "variant", "void", "geometry", "geography")
"""Spark's; a test compares them with Spark."""
_SHOWN = "string, boolean, int, bigint, double, decimal(10,2), date, timestamp, binary, array<…>, map<…>, struct<…>"
_ELSEWHERE = {
    "str": "string",
    "text": "string",
    "uuid": "string",
    "json": "string",
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float32": "float",
    "float64": "double",
    "number": "double",
    "datetime": "timestamp",
    "timestamptz": "timestamp",
    "bytes": "binary",
    "blob": "binary",
    "list": "array<string>",
    "dict": "map<string,string>",
    "object": "struct<name: string>",
}
_PYTHON: dict[object, str] = {
    str: "string",
    bool: "boolean",
    int: "bigint",
    float: "double",
    bytes: "binary",
    datetime: "timestamp",
    date: "date",
    time: "time",
    timedelta: "interval day to second",
    Decimal: "decimal(38,18)",
}
ACCEPTED = (
    'a type is text ("string", "array<int>"), str, int, float, bool, bytes, datetime, date, Decimal, list[…], dict[str, …], '
    "or one of pyspark's"
)
_AFTER = {
    "string": r"(\s+collate\s+\S+)?",
    "timestamp": r"(\s*\(\s*6\s*\)|\s+with\s+local\s+time\s+zone|\s+without\s+time\s+zone)?",
    "time": r"(\s*\(\s*\d\s*\))?(\s+without\s+time\s+zone)?",
    "interval": r"(\s+\w+(\s+to\s+\w+)?)?",
    **dict.fromkeys(("timestamp_ltz", "timestamp_ntz"), r"(\s*\(\s*6\s*\))?"),
    **dict.fromkeys(_DECIMALS, r"(\s*\(\s*\d+\s*(,\s*-?\d+\s*)?\))?"),
    **dict.fromkeys(("char", "character", "varchar"), r"\s*\(\s*\d+\s*\)(\s+collate\s+\S+)?"),
    **dict.fromkeys(("geometry", "geography"), r"\s*\([^()]*\)"),
}
"""What may follow a name; nothing, if it is not here."""
_FORM = {
    "array": "array<string>",
    "map": "map<string,int>",
    "struct": "struct<name: string>",
    "char": "char(10)",
    "character": "char(10)",
    "varchar": "varchar(10)",
    "decimal": "decimal(10,2)",
    "dec": "decimal(10,2)",
    "numeric": "decimal(10,2)",
}
_FIELD = re.compile(r"^\s*(`(?:[^`]|``)+`|\w+)\s*:?\s*(.+?)\s*$", re.DOTALL)
_TAIL = re.compile(r"\s+(not\s+null|comment\s+'.*'|comment\s+\".*\"|default\s+.*)$", re.IGNORECASE | re.DOTALL)


class NotAType(ValueError):
    """What is wrong, and what may be written."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


def of(value: object) -> str:
    """The type as DDL text; of Python's types, and of pyspark's, which are known by what they have: nothing is imported."""
    if isinstance(value, str):
        kind = field(f"_ {value}")[1]
        check(kind)
        return kind
    if isinstance(value, type) and value in _PYTHON:
        return _PYTHON[value]
    if isinstance(value, Mapping):
        fields = typing.cast("Mapping[str, object]", value)
        return f"struct<{', '.join(f'{quoted(name)}: {of(kind)}' for name, kind in fields.items())}>"
    origin, arguments = typing.get_origin(value), typing.get_args(value)
    match origin, arguments:
        case (builtins, [element]) if builtins is list:
            return f"array<{of(element)}>"
        case (builtins, [key, element]) if builtins is dict:
            return f"map<{of(key)}, {of(element)}>"
        case (types.UnionType | typing.Union, [kind, none]) if none is type(None):
            return of(kind)
        case _:
            pass
    return _spark(value)


def check(text: str) -> None:
    """NotAType, if Spark would not know it."""
    name, rest = _head(text)
    lower = name.lower()
    if lower not in NAMES:
        meant = _ELSEWHERE.get(lower) or closest(name, NAMES)
        suggested = f"did you mean {meant!r}? " if meant else ""
        raise NotAType(f"an unknown type: {name or text!r}", f"{suggested}types are: {_SHOWN}")
    if lower in _NESTED:
        inner = re.fullmatch(r"\s*<(.*)>", rest, re.DOTALL)
        parts = split(inner[1]) if inner else []
        if inner is None or len(parts) != {"array": 1, "map": 2}.get(lower, len(parts)):
            raise NotAType(f"an incomplete type: {text!r}", f"write it like {_FORM[lower]}")
        for part in parts:
            check(field(part)[1] if lower == "struct" else part)
    elif not re.fullmatch(_AFTER.get(lower, ""), rest, re.IGNORECASE):
        raise NotAType(f"an unknown type: {text!r}", f"write it like {_FORM.get(lower, lower)}")
    elif lower in _DECIMALS:
        precision, scale, *_ = [*map(int, re.findall(r"-?\d+", rest)), 0, 0]
        if precision > 38 or scale > max(precision, 0):
            raise NotAType(f"an unknown type: {text!r}", "at most 38 digits, and no more of them after the point")


def field(text: str) -> tuple[str, str]:
    """`name: type`, `name type`, with what may follow; NotAType without a type. NOT NULL stays with the type."""
    match = _FIELD.match(text)
    if match is None:
        raise NotAType(f"no type: {text.strip()!r}", "write it like name string")
    name = match[1][1:-1].replace("``", "`") if match[1].startswith("`") else match[1]
    kind, not_null = match[2], ""
    while tail := _TAIL.search(kind):
        not_null = NOT_NULL if tail[1].lower().startswith("not") else not_null
        kind = kind[: tail.start()]
    return name, " ".join(kind.split()) + not_null


def split(text: str) -> list[str]:
    """At the commas outside of <>, () and quotes."""
    parts: list[str] = []
    depth, quote, start = 0, "", 0
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "`'\"":
            quote = char
        elif char in "<(":
            depth += 1
        elif char in ">)":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part for part in parts if part.strip()]


def quoted(name: str) -> str:
    """Always in backticks: `true` and `null` are names too."""
    return "`" + name.replace("`", "``") + "`"


def _head(text: str) -> tuple[str, str]:
    match = re.match(r"\s*(\w+)", text.removesuffix(NOT_NULL).rstrip())
    return (match[1], text.removesuffix(NOT_NULL).rstrip()[match.end() :]) if match else ("", text)


def _spark(value: Any) -> str:
    """A DataType of pyspark, or its class."""
    made: Any = value() if isinstance(value, type) and hasattr(value, "simpleString") else value
    if isinstance(made, type) or not callable(getattr(made, "simpleString", None)):
        shown = getattr(value, "__name__", None) or repr(value)
        raise NotAType(f"an unknown type: {shown}", ACCEPTED)
    match made.typeName():
        case "struct":
            fields = (f"{quoted(part.name)}: {_spark(part.dataType)}{_null(part)}" for part in made.fields)
            return f"struct<{', '.join(fields)}>"
        case "array":
            return f"array<{_spark(made.elementType)}>"
        case "map":
            return f"map<{_spark(made.keyType)}, {_spark(made.valueType)}>"
        case _:
            text = str(made.simpleString())
            check(text)
            return text


def spark_fields(schema: Any) -> tuple[tuple[str, str], ...]:
    """Of a StructType."""
    return tuple((str(part.name), _spark(part.dataType) + _null(part)) for part in schema.fields)


def _null(part: Any) -> str:
    return "" if part.nullable else NOT_NULL


def article(kind: str) -> str:
    """Before the name of a type: an int, a double."""
    return "an" if kind[:1] in "aeiou" else "a"
