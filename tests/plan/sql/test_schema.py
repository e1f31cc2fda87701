"""A schema is text, a dict or a StructType; a type that does not exist is refused at the line, without Spark."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any, Optional

import pytest
from pyspark.sql import types as spark

import headrace as hr
from headrace.errors import PlanError


def fields(schema: Any) -> tuple[tuple[str, str], ...]:
    node: Any = hr.App("a").stream("t", schema=schema)._node
    return node.fields


def test_a_dict_of_python_types_is_a_schema() -> None:
    schema = {
        "a": str,
        "b": int,
        "c": float,
        "d": bool,
        "e": bytes,
        "f": datetime,
        "g": date,
        "h": Decimal,
        "i": "array<int>",
        "j": list[str],
        "k": dict[str, list[int]],
        "l": int | None,
        "m": Optional[str],  # noqa: UP045
        "n": {"x": float, "y z": "string not null"},
        "o": spark.DecimalType(12, 2),
        "p": spark.ShortType,
        "q": "string  NOT null",
    }
    assert [kind for _, kind in fields(schema)] == [
        "string",
        "bigint",
        "double",
        "boolean",
        "binary",
        "timestamp",
        "date",
        "decimal(38,18)",
        "array<int>",
        "array<string>",
        "map<string, array<bigint>>",
        "bigint",
        "string",
        "struct<`x`: double, `y z`: string NOT NULL>",
        "decimal(12,2)",
        "smallint",
        "string NOT NULL",
    ]


def test_a_struct_type_is_a_schema() -> None:
    inner = (
        spark.StructType()
        .add("a b", spark.LongType(), nullable=False)
        .add("c", spark.MapType(spark.StringType(), spark.DateType()))
    )
    schema = (
        spark.StructType()
        .add("symbol", "string", nullable=False)
        .add("price", spark.DoubleType())
        .add("rest", spark.ArrayType(inner))
        .add("at", spark.TimestampNTZType())
    )
    assert fields(schema) == (
        ("symbol", "string NOT NULL"),
        ("price", "double"),
        ("rest", "array<struct<`a b`: bigint NOT NULL, `c`: map<string, date>>>"),
        ("at", "timestamp_ntz"),
    )


def test_what_is_no_schema_is_refused_with_one() -> None:
    wrong: Any = ["k"]
    with pytest.raises(PlanError) as caught:
        hr.App("a").stream("t", schema=wrong)
    assert caught.value.message == "['k'] is not a schema"
    assert "a dict or a StructType of pyspark is fine too" in (caught.value.fix or "")


WRONG: dict[str, tuple[Any, str, str]] = {
    "a misspelt type": ("k strin", "'k' has an unknown type: 'strin'", "did you mean 'string'?"),
    "of an array": ("k array<strin>", "'k' has an unknown type: 'strin'", "did you mean 'string'?"),
    "of a map": ("k map<string,itn>", "'k' has an unknown type: 'itn'", "did you mean 'int'?"),
    "of a struct": ("k struct<a: bol>", "'k' has an unknown type: 'bol'", "types are: string, boolean,"),
    "pandas's": ("k int64", "'k' has an unknown type: 'int64'", "did you mean 'bigint'?"),
    "Python's as text": ("k str", "'k' has an unknown type: 'str'", "did you mean 'string'?"),
    "an array of what": ("k array", "'k' has an incomplete type: 'array'", "array<string>"),
    "half a map": ("k map<string>", "'k' has an incomplete type: 'map<string>'", "map<string,int>"),
    "a varchar of what": ("k varchar", "'k' has an unknown type: 'varchar'", "varchar(10)"),
    "a large decimal": ("k decimal(39,2)", "'k' has an unknown type: 'decimal(39,2)'", "at most 38 digits"),
    "a word too many": ("k int unsigned", "'k' has an unknown type: 'int unsigned'", "write it like int"),
    "a list": ({"k": list}, "'k' has an unknown type: list", "list[…]"),
    "a complex number": ({"k": complex}, "'k' has an unknown type: complex", "a type is text"),
    "a value": ({"k": 7}, "'k' has an unknown type: 7", "str, int, float, bool, bytes"),
    "a misspelt type in a dict": ({"k": "strin"}, "'k' has an unknown type: 'strin'", "did you mean 'string'?"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_type_that_does_not_exist_is_refused_at_the_line(case: str) -> None:
    schema, message, fix = WRONG[case]
    with pytest.raises(PlanError) as caught:
        hr.App("a").stream("t", schema=schema)
    assert caught.value.message == f"the schema's field {message}"
    assert fix in (caught.value.fix or "")
    assert caught.value.where is not None
    assert caught.value.where.file.endswith("test_schema.py")


def test_a_function_says_what_it_returns_in_the_same_ways() -> None:
    for kind, text in (
        (float, "double"),
        (spark.LongType(), "bigint"),
        ("array<string>", "array<string>"),
        ("a int, b string", "a int, b string"),
    ):
        assert hr.udf(kind)(len).returns == text
    for wrong in ("strin", "a int, b strin"):
        with pytest.raises(PlanError) as caught:
            hr.udf(wrong)
        assert "has an unknown type: 'strin'" in caught.value.message
        assert "did you mean 'string'?" in (caught.value.fix or "")
    with pytest.raises(PlanError) as caught:
        hr.udf(len)
    assert caught.value.message == "@hr.udf needs the type it returns"
    assert caught.value.fix == 'write @hr.udf("double")'
