"""What the plan knows of Spark by heart is what Spark says itself."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import _parse_datatype_string  # pyright: ignore

import headrace as hr
from headrace.errors import PlanError
from headrace.plan.sql import functions, types
from tests.spark import signatures

KNOWN = """boolean, tinyint, byte, smallint, short, int, integer, bigint, long, float, real, double, date, timestamp,
timestamp(6), timestamp_ltz, timestamp_ntz, timestamp without time zone, timestamp with local time zone, time, time(3), string,
string collate UTF8_LCASE, char(3), character(3), varchar(3), binary, decimal, dec, numeric, decimal(3), decimal(38), void,
interval, interval day to second, interval year, variant, geometry(4326), geography(any), array<int>, ARRAY < INT >, struct<>,
struct<a int>, struct<`a b`: int not null>"""
UNKNOWN = """strin, str, bool, datetime, text, number, char, varchar, array, map, struct, geometry, int unsigned,
double precision, decimal(39), timestamp with time zone, timestamp(3), array<strin>, struct<a: array<itn>>, null, object,
any, json"""
COMMAS = {"decimal(10,2)": True, "map<string,int>": True, "struct<a:int,b string comment 'x, y'>": True, "decimal(5,7)": False}


def accepted(kind: str) -> bool:
    try:
        types.of(kind)
    except types.NotAType:
        return False
    return True


def test_a_type_is_known_if_spark_knows_it(spark: SparkSession) -> None:
    expected = {kind: text is KNOWN for text in (KNOWN, UNKNOWN) for kind in re.split(r"\s*,\s+", text)}
    for kind, known in (expected | COMMAS).items():
        assert accepted(kind) is known, kind
        try:
            _parse_datatype_string(f"a {kind}")
        except Exception:
            assert not known, kind
        else:
            assert known, kind
    assert {re.split(r"[(<\s]", kind)[0].lower() for kind in [*expected, *COMMAS]} >= set(types.NAMES)


def test_a_function_is_known_if_spark_knows_it(spark: SparkSession) -> None:
    """If this fails, Spark has changed: write to functions.txt what the test has found."""
    found = {row[0] for row in spark.sql("show system functions").collect()}
    assert sorted(name for name in found if name.isidentifier()) == sorted(functions.names())


def test_what_is_refused_of_a_function_spark_refuses_too(spark: SparkSession) -> None:
    """A fifth of them. If this fails, Spark has changed: `python -m tests.spark.signatures` prints functions.txt anew."""
    sample = random.Random(len(functions.names())).sample(sorted(functions.known()), 110)
    for name in {*sample, "sum", "avg", "abs", "size", "upper", "substring"}:
        known = functions.known()[name]
        accepted = [count for count in range(signatures.MOST + 1) if known.takes(count)]
        for count in {max(accepted[0] - 1, 0), min(accepted[-1] + 1, signatures.MOST)} - set(accepted):
            assert not signatures.takes(spark, name, count), f"{name} with {count}"
        for count in {accepted[0], accepted[-1]}:
            assert signatures.takes(spark, name, count), f"{name} with {count}"
        for kind in known.refused:
            assert signatures.refuses(spark, name, kind), f"{name} of {kind}"


COLUMNS: dict[str, tuple[Callable[[Any, Column], object], str]] = {
    "where": (lambda s, c: s.where(c), 'write it as text: "v > 1"'),
    "select": (lambda s, c: s.select("v", c.alias("x")), "write it as text: "),
    "with_columns": (lambda s, c: s.with_columns(x=c), 'write it as text: "v > 1"'),
    "agg": (lambda s, c: s.agg(x=F.sum("v")), "write it as text: "),
    "key_by": (lambda s, c: s.key_by(F.col("v")), "write it as text: "),
    "drop": (lambda s, c: s.drop(F.col("v")), "write it as text: "),
    "split": (lambda s, c: s.split(c), 'write it as text: "v > 1"'),
    "explode": (lambda s, c: s.explode(F.array("v"), name="x"), "write it as text: "),
}


def test_a_column_of_pyspark_is_answered_with_text(spark: SparkSession) -> None:
    stream = hr.App("a").stream("t", schema="v int")
    for verb, (make, fix) in COLUMNS.items():
        with pytest.raises(PlanError) as caught:
            make(stream, F.col("v") > 1)
        assert "is a Column of pyspark, and expressions are SQL text" in caught.value.message, verb
        assert fix in (caught.value.fix or ""), verb
