"""The kernel's JSON decoder, against the rules in docs/formats.md, Python's json, to_json and from_json."""

from __future__ import annotations

import math
import random
import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import MapType, StringType, StructField, StructType

from headrace.errors import PlanError
from headrace.spark.jvm import decode_json
from tests.kernel.json_documents import SCHEMA, Writer, expected, same

FORMATS = Path(__file__).resolve().parents[2] / "docs" / "formats.md"
NAMES = {"Decimal": Decimal, "Row": Row, "date": date, "datetime": datetime, "time": time, "timedelta": timedelta}
NAMES |= {"inf": math.inf, "nan": math.nan}


def decoder(spark: SparkSession, schema: str | StructType, *, fail: bool = False) -> Column:
    struct = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    return decode_json(spark, sql.col("value"), sql.lit("trades"), sql.lit(3), sql.lit(17), schema=struct, fail=fail)


def frame(spark: SparkSession, documents: list[bytes | None]) -> DataFrame:
    rows = [(i, document) for i, document in enumerate(documents)]
    return spark.createDataFrame(rows, "i int, value binary").coalesce(2)


def decode(spark: SparkSession, schema: str | StructType, documents: list[bytes | None]) -> list[Row]:
    decoded = frame(spark, documents).select("i", decoder(spark, schema).alias("v"))
    return [row.v for row in sorted(decoded.collect(), key=lambda row: row.i)]


def causes(spark: SparkSession, schema: str | StructType, documents: list[bytes | None]) -> list[str | None]:
    return [row["_bad"] for row in decode(spark, schema, documents)]


def documented() -> list[tuple[str, str, str]]:
    cells = re.findall(r"^\| `(.+?)` \| `(.+?)` \| (.+?) \|$", FORMATS.read_text(), re.MULTILINE)
    return [(kind, text, becomes) for kind, text, becomes in cells]


def test_every_row_of_the_documented_table_holds(spark: SparkSession) -> None:
    table = documented()
    assert len(table) > 80
    schema = ", ".join(f"f{i} {kind}" for i, (kind, _, _) in enumerate(table))
    rows = decode(spark, schema, [f'{{"f{i}": {text}}}'.encode() for i, (_, text, _) in enumerate(table)])
    for i, ((kind, text, becomes), row) in enumerate(zip(table, rows, strict=True)):
        if becomes.startswith("bad: "):
            assert row["_bad"] == f"field f{i}: {becomes[5:]}", (kind, text)
        else:
            assert row["_bad"] is None, (kind, text, row["_bad"])
            assert repr(row[f"f{i}"]) == repr(eval(becomes.strip("`"), dict(NAMES))), (kind, text)


ACCEPTED = [
    b'{"a":1}',
    b' \t\r\n{ "a" : 1 } \n',
    b'\xef\xbb\xbf{"a":1}',
    b'{"\\u0061":1}',
    b'{"x":{"a":[1,{"a":2}]},"a":1}',
    b'{"a":5,"a":1}',
    b'{"x":NaN,"y":[-Infinity,Infinity],"a":1}',
    b'{"x":"\\ud800","a":1}',
    b'{"x":"\xf0\x9f\x98\x80","a":1}',
    b'{"x":-0.0e-0,"a":1}',
]


def test_documents_python_takes_are_taken(spark: SparkSession) -> None:
    assert decode(spark, "a bigint", list(ACCEPTED)) == [Row(a=1, _bad=None)] * len(ACCEPTED)


CAUSES: list[tuple[bytes | None, str]] = [
    (None, "no value (tombstone)"),
    (b"", "empty value"),
    (b" \n", "empty value"),
    (b"\xef\xbb\xbf", "empty value"),
    (b"[1]", "expected an object, found array"),
    (b'"a"', "expected an object, found string"),
    (b"12", "expected an object, found number"),
    (b"true", "expected an object, found boolean"),
    (b"null", "expected an object, found null"),
    (b"nul", "truncated: ended at byte 3 inside a literal"),
    (b"hello", "not valid JSON at byte 0: expected a value"),
    (b"\xef\xbb\xbf\xef\xbb\xbf{}", "not valid JSON at byte 3: expected a value"),
    (b'{"a":1} x', "not valid JSON at byte 8: expected nothing after the object"),
    (b'{"a":1}{}', "not valid JSON at byte 7: expected nothing after the object"),
    (b'{"a":1,}', "not valid JSON at byte 7: expected a field name"),
    (b'{,"a":1}', "not valid JSON at byte 1: expected a field name"),
    (b"{'a':1}", "not valid JSON at byte 1: expected a field name"),
    (b"{a:1}", "not valid JSON at byte 1: expected a field name"),
    (b'{"a" 1}', "not valid JSON at byte 5: expected ':'"),
    (b'{"a":1 "b":2}', "not valid JSON at byte 7: expected ',' or '}'"),
    (b'{"x":[1 2]}', "not valid JSON at byte 8: expected ',' or ']'"),
    (b'{"x":[1,]}', "not valid JSON at byte 8: expected a value"),
    (b'{"a":}', "not valid JSON at byte 5: expected a value"),
    (b'{"a":01}', "not valid JSON at byte 5: expected a number without leading zeros"),
    (b'{"a":-}', "not valid JSON at byte 6: expected a digit"),
    (b'{"a":+1}', "not valid JSON at byte 5: expected a value"),
    (b'{"a":.5}', "not valid JSON at byte 5: expected a value"),
    (b'{"a":1.}', "not valid JSON at byte 7: expected a digit"),
    (b'{"a":1e}', "not valid JSON at byte 7: expected a digit"),
    (b'{"a":0x1}', "not valid JSON at byte 6: expected ',' or '}'"),
    (b'{"a":tru}', "not valid JSON at byte 5: expected 'true'"),
    (b'{"a":-Infinit}', "not valid JSON at byte 5: expected '-Infinity'"),
    (b'{"x":1}//', "not valid JSON at byte 7: expected nothing after the object"),
    (b'{"x":"\x01"}', "not valid JSON at byte 6: expected no raw control character in a string"),
    (b'{"x":"12345678\n"}', "not valid JSON at byte 14: expected no raw control character in a string"),
    (b'{"x":"\\x"}', 'not valid JSON at byte 7: expected an escape: one of "\\/bfnrtu'),
    (b'{"x":"\\u12g4"}', "not valid JSON at byte 10: expected four hex digits after \\u"),
    (b"{", "truncated: ended at byte 1 inside an object"),
    (b'{"a":1', "truncated: ended at byte 6 inside an object"),
    (b'{"a":1,', "truncated: ended at byte 7 inside an object"),
    (b'{"a', "truncated: ended at byte 3 inside a string"),
    (b'{"x":"abc\\', "truncated: ended at byte 10 inside a string"),
    (b'{"x":"abc\\u00', "truncated: ended at byte 13 inside a string"),
    (b'{"x":[1', "truncated: ended at byte 7 inside an array"),
    (b'{"x":[', "truncated: ended at byte 6 inside an object or array"),
    (b'{"a":1.', "truncated: ended at byte 7 inside a number"),
    (b'{"x":"\xff"}', "invalid UTF-8 at byte 6"),
    (b'{"x":"\xc0\x80"}', "invalid UTF-8 at byte 6"),
    (b'{"x":"ok\xed\xa0\x80"}', "invalid UTF-8 at byte 8"),
    (b'{"x":"\xf4\x90\x80\x80"}', "invalid UTF-8 at byte 6"),
    (b'{"x":"\xe2\x82"}', "invalid UTF-8 at byte 6"),
    (b'{"\xff":1}', "invalid UTF-8 at byte 2"),
    (b'{"t":"' + b"\0" * 10 + b'"}', "not valid JSON at byte 6: expected no raw control character in a string"),
    (b'{"a":"b","a":1}', 'field a: expected long, found string "b"'),
    (b'{"a":[1,\n2]}', "field a: expected long, found array [1,\\u000a2]"),
    (b'{"a":"' + b"x" * 60 + b'"}', 'field a: expected long, found string "' + "x" * 39 + "..."),
    (b'{"o":{"b":[{},{},null,{"c":"abc"}]}}', 'field o.b[3].c: expected double, found string "abc"'),
    (b'{"m":{"k":{"c":[]}}}', "field m.k.c: expected double, found array []"),
]


def test_a_bad_record_says_why(spark: SparkSession) -> None:
    found = causes(
        spark, "a bigint, o struct<b:array<struct<c:double>>>, m map<string,struct<c:double>>", [d for d, _ in CAUSES]
    )
    assert dict(zip([d for d, _ in CAUSES], found, strict=True)) == dict(CAUSES)


def test_a_bad_record_has_no_other_fields(spark: SparkSession) -> None:
    [row] = decode(spark, "a bigint, b string, c array<int>", [b'{"a":1,"b":"x","c":["y"]}'])
    assert row == Row(a=None, b=None, c=None, _bad='field c[0]: expected int, found string "y"')


def test_nesting_ends_at_512_without_an_overflow(spark: SparkSession) -> None:
    def nested(depth: int, opening: bytes, middle: bytes, closing: bytes) -> bytes:
        return b'{"x":' + opening * (depth - 1) + middle + closing * (depth - 1) + b"}"

    arrays = [nested(depth, b"[", b"", b"]") for depth in (512, 513, 200_000)]
    objects = [nested(depth, b'{"x":', b"1", b"}") for depth in (512, 513, 200_000)]
    deep = [None, "nested deeper than 512", "nested deeper than 512"]
    assert causes(spark, "a int", [*arrays, *objects]) == deep * 2
    assert causes(spark, "x string", [*arrays, *objects]) == deep * 2
    assert causes(spark, "x int", [arrays[2]]) == ["nested deeper than 512"]


def test_numbers_of_a_million_digits_cost_no_more_than_reading_them(spark: SparkSession) -> None:
    digits = b"1" * 1_000_000
    documents: list[bytes | None] = [b'{"%s":%s}' % (name, digits) for name in (b"n", b"d", b"c", b"t")]
    found = causes(spark, "n bigint, d double, c decimal(38,18), t timestamp", [*documents, b'{"c":0.%s}' % digits])
    assert [cause and cause.split(", ")[0] for cause in found] == [
        "field n: expected long",
        None,
        "field c: expected decimal(38,18)",
        "field t: expected timestamp",
        None,
    ]


def test_doubles_and_floats_are_rounded_as_python_and_java_round(spark: SparkSession) -> None:
    rng = random.Random(7)
    texts = [repr(rng.uniform(-1, 1) * 10.0 ** rng.randint(-320, 300)) for _ in range(2000)]
    texts += [f"{rng.randrange(10 ** rng.randint(1, 25))}e{rng.randint(-40, 40)}" for _ in range(2000)]
    rows = decode(spark, "d double, f float", [f'{{"d":{text},"f":{text}}}'.encode() for text in texts])
    assert [repr(row.d) for row in rows] == [repr(float(text)) for text in texts]
    java = spark.createDataFrame([(i, text) for i, text in enumerate(texts)], "i int, t string").selectExpr("i", "float(t) f")
    assert [row.f for row in rows] == [row.f for row in sorted(java.collect(), key=lambda row: row.i)]


def test_days_from_year_1_to_9999_are_read(spark: SparkSession) -> None:
    days = [date.fromordinal(n) for n in range(3, date.max.toordinal() + 1, 97)] + [date.max]
    rows = decode(spark, "d date, t timestamp", [f'{{"d":"{d}","t":"{d}T23:59:59.999999Z"}}'.encode() for d in days])
    assert [row["_bad"] for row in rows] == [None] * len(rows)
    assert [row.d for row in rows] == days
    assert [row.t for row in rows] == [datetime(d.year, d.month, d.day, 23, 59, 59, 999999) for d in days]


def test_more_than_64_fields_in_any_order_find_their_place(spark: SparkSession) -> None:
    names = [f"field_{i}" for i in range(150)]
    shuffled = random.Random(1).sample(names, 150)
    members = ",".join(f'"{name}":{name[6:]}' for name in shuffled if name != "field_70")
    [row] = decode(spark, ", ".join(f"{name} int" for name in names), [f"{{{members}}}".encode()])
    assert list(row)[:150] == [None if i == 70 else i for i in range(150)]


def test_fail_stops_the_query_and_says_where(spark: SparkSession) -> None:
    query = frame(spark, [b'{"price":"abc"}']).select(decoder(spark, "price double", fail=True).alias("v"))
    with pytest.raises(Exception, match="HEADRACE_BAD_RECORD") as failure:
        query.collect()
    wanted = 'HEADRACE_BAD_RECORD topic=trades partition=3 offset=17 cause=field price: expected double, found string "abc"'
    assert any(line.endswith(wanted) for line in str(failure.value).splitlines())


def test_with_fail_good_records_are_as_without(spark: SparkSession) -> None:
    good = frame(spark, list(ACCEPTED)).select(decoder(spark, "a bigint", fail=True).alias("v")).select("v.*").collect()
    assert good == [Row(a=1, _bad=None)] * len(ACCEPTED)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("a struct<b:array<map<int,string>>>", "field a.b[]: JSON has no MAP<INT, STRING>; the keys of a map are strings"),
        ("m map<string,interval>", "field m{}: no JSON form for type INTERVAL"),
        ("a void", "field a: no JSON form for type VOID"),
        ("a int, _bad string", "field _bad: the name is taken by the decoder"),
        ("o struct<a:int,a:int>", "field o.a is in the schema twice"),
    ],
)
def test_a_schema_json_cant_fill_is_refused_by_field(spark: SparkSession, schema: str, message: str) -> None:
    with pytest.raises(PlanError) as refused:
        decoder(spark, schema)
    assert str(refused.value) == message


def test_every_field_comes_out_nullable(spark: SparkSession) -> None:
    inner = StructType([StructField("b", MapType(StringType(), StringType(), False), False)])
    decoded = frame(spark, []).select(decoder(spark, StructType([StructField("a", inner, False)])).alias("v")).schema["v"]
    assert decoded.dataType.simpleString() == "struct<a:struct<b:map<string,string>>,_bad:string>"
    assert decoded.dataType["a"].nullable
    assert decoded.dataType["a"].dataType["b"].nullable
    assert decoded.dataType["a"].dataType["b"].dataType.valueContainsNull


def test_filters_and_projections_never_decode_twice(spark: SparkSession) -> None:
    decoded = frame(spark, [b'{"a":1,"b":2}', b'{"a":5,"b":6}', b"?"]).select(decoder(spark, "a int, b int").alias("v"))
    query = (
        decoded.filter("v._bad is null")
        .select("v.a", "v.b", (sql.col("v.a") + sql.col("v.b")).alias("c"))
        .filter("c > 3 and a > 1")
    )
    assert query._jdf.queryExecution().optimizedPlan().toString().count(".decode(") == 1
    assert query.collect() == [Row(a=5, b=6, c=11)]


def test_without_generated_code_the_rows_are_the_same(spark: SparkSession) -> None:
    writer = Writer(random.Random(3))
    documents: list[bytes | None] = [None, *(writer.document() for _ in range(200))]
    generated = decode(spark, SCHEMA, documents)
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        assert repr(decode(spark, SCHEMA, documents)) == repr(generated)
    finally:
        for name in settings:
            spark.conf.unset(name)


ALL_TYPES = """
  'naïve "quoted" \\n' s, 1Y y, -2S h, 3 i, -9223372036854775808 l, 1.5f f, 1.1e-300d d, double('NaN') nan,
  double('-Infinity') inf, 1.10BD b1, 12345678901234567890.123456789012345678BD b2, true t,
  date'2024-02-29' dt, date'0001-01-01' d1, timestamp'2024-02-29 12:34:56.789' ts,
  timestamp_ntz'1969-12-31 23:59:59.999' ntz, X'00ff10' bin, interval '1 02:03:04.5' day to second ds,
  interval '-3-4' year to month ym,
  parse_json('{"a":[1,2.5,"x",null]}') var,
  array(1, null, 3) xs, array(array('a'), array()) xss, map('k', 1.5d, '', null) m,
  named_struct('a', 1, 'b', named_struct('c', array(named_struct('d', 'e')))) o, cast(null as string) missing
"""


def test_what_to_json_writes_comes_back_for_every_type(spark: SparkSession) -> None:
    source = spark.sql(f"select {ALL_TYPES}")
    written = source.select(sql.to_json(sql.struct("*")).cast("binary").alias("value"))
    back = written.select(decoder(spark, source.schema).alias("v")).select("v.*")
    found, wanted = (rows.withColumn("ym", sql.col("ym").cast("string")).first() for rows in (back, source))
    assert found is not None
    assert wanted is not None
    assert found["_bad"] is None
    assert repr(found[:-1]) == repr(wanted[:])
    assert back.drop("_bad").schema.simpleString() == source.schema.simpleString()


@settings(max_examples=14, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck), derandomize=True)
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_documents_are_taken_or_refused_and_read_as_by_python(spark: SparkSession, seed: int) -> None:
    writer = Writer(random.Random(seed))
    documents: list[bytes | None] = [writer.document() for _ in range(1000)]
    rows = decode(spark, SCHEMA, documents)
    taken = 0
    for document, row in zip(documents, rows, strict=True):
        found: dict[str, Any] = row.asDict(recursive=True)
        cause = found.pop("_bad")
        wanted = expected(document or b"")
        assert (cause is None) == (wanted is not None), (document, cause, wanted)
        assert wanted is None or same(found, wanted), (document, found, wanted)
        assert wanted is not None or set(found.values()) == {None}, (document, found)
        taken += cause is None
    assert 300 < taken < 800


def test_documents_are_read_as_by_from_json(spark: SparkSession) -> None:
    writer = Writer(random.Random(11), tame=True)
    documents: list[bytes | None] = [writer.document() for _ in range(2000)]
    both = frame(spark, documents).select(
        "value", decoder(spark, SCHEMA).alias("v"), sql.from_json(sql.col("value").cast("string"), SCHEMA).alias("theirs")
    )
    for row in both.collect():
        assert row.v["_bad"] is None, row.value
        assert repr(row.v[:-1]) == repr(row.theirs[:]), row.value
