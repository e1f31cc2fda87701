"""Schemas: Spark's DDL text ("symbol string, price double"), a dict or a StructType, as names and types, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from headrace.errors import PlanError, Where
from headrace.plan.sql import types
from headrace.plan.sql.types import NOT_NULL as NOT_NULL
from headrace.plan.sql.types import quoted as quoted

Fields = tuple[tuple[str, str], ...]


class Struct(Protocol):
    """What of a StructType of pyspark is used."""

    @property
    def fields(self) -> Sequence[Any]: ...


Schema = str | Mapping[str, object] | Struct

EXAMPLE = 'schema="symbol string, price double, at timestamp"'


def parse(schema: Schema, where: Where) -> Fields:
    if isinstance(schema, str):
        return _checked(tuple(_field(part, where) for part in types.split(schema)), where)
    if isinstance(schema, Mapping):
        return _checked(tuple((str(name), _type(str(name), kind, where)) for name, kind in schema.items()), where)
    try:
        return _checked(types.spark_fields(schema), where)
    except types.NotAType as e:
        raise PlanError(f"the schema has {e.message}", where=where, fix=e.fix) from None
    except AttributeError:
        raise PlanError(
            f"{schema!r} is not a schema", where=where, fix=f"write {EXAMPLE}; a dict or a StructType of pyspark is fine too"
        ) from None


def plain(kind: str) -> str:
    """The type alone, in lower case, without NOT NULL."""
    return kind.removesuffix(NOT_NULL).lower()


def ddl(fields: Fields) -> str:
    return ", ".join(f"{quoted(name)} {kind}" for name, kind in fields)


def returned(kind: object, where: Where) -> str:
    """The type that a function returns: one type, or the fields of a struct."""
    try:
        return types.of(kind)
    except types.NotAType as e:
        if isinstance(kind, str) and len(kind.split()) > 1:
            parse(kind, where)
            return kind
        raise PlanError(f"the function has {e.message}", where=where, fix=e.fix) from None


def _field(part: str, where: Where) -> tuple[str, str]:
    try:
        name, kind = types.field(part)
    except types.NotAType:
        raise PlanError(
            f"the schema has a field without a type: {part.strip()!r}", where=where, fix=f"write it like {EXAMPLE}"
        ) from None
    return name, _type(name, kind, where)


def _type(name: str, kind: object, where: Where) -> str:
    try:
        return types.of(kind)
    except types.NotAType as e:
        raise PlanError(f"the schema's field {name!r} has {e.message}", where=where, fix=e.fix) from None


def _checked(fields: Fields, where: Where) -> Fields:
    if not fields:
        raise PlanError("the schema is empty", where=where, fix=f"write it like {EXAMPLE}")
    seen: set[str] = set()
    for name, _ in fields:
        if name.startswith("_"):
            raise PlanError(
                f"the schema's field {name!r} begins with an underscore, which is reserved for Headrace's own columns",
                where=where,
                fix='leave the field out; format="text" has the whole record, and get_json_object() its fields',
            )
        if name.lower() in seen:
            raise PlanError(f"the schema has the field {name!r} twice", where=where, fix="leave one of them out")
        seen.add(name.lower())
    return fields
