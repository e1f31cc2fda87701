"""What Spark itself says of its functions: how many arguments each takes, and of which types none.

`python -m tests.spark.signatures` prints functions.txt anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

MOST = 10
"""More arguments than any function takes that has a limit."""
KINDS = {
    "boolean": ["boolean"],
    "number": ["tinyint", "int", "bigint", "float", "double", "decimal(10,2)", "decimal(38,0)"],
    "string": ["string"],
    "binary": ["binary"],
    "date": ["date"],
    "timestamp": ["timestamp", "timestamp_ntz"],
    "array": [
        *("array<int>", "array<bigint>", "array<double>", "array<string>", "array<boolean>", "array<binary>", "array<date>"),
        *("array<array<int>>", "array<array<string>>", "array<map<string,int>>", "array<struct<a:int>>"),
        *("array<struct<k:string,v:int>>", "array<timestamp>", "array<decimal(10,2)>"),
    ],
    "map": ["map<string,int>", "map<int,string>", "map<string,string>", "map<string,array<int>>"],
    "struct": [
        *("struct<a:int>", "struct<a:string,b:string>", "struct<a:double>", "struct<a:binary>"),
        *("struct<start:timestamp,end:timestamp>", "struct<a:int,b:int>", "struct<a:array<int>>"),
    ],
}


def names(spark: SparkSession) -> list[str]:
    return sorted(row[0] for row in spark.sql("show system functions").collect() if row[0].isidentifier())


def takes(spark: SparkSession, name: str, count: int) -> bool:
    """Whether Spark accepts that many arguments, whatever else it may say."""
    return "WRONG_NUM_ARGS" not in _said(spark, f"select `{name}`({', '.join(['null'] * count)})")


def refuses(spark: SparkSession, name: str, kind: str) -> bool:
    """Whether a column of that kind can't be the only argument, with ANSI rules and without."""
    return all(_mismatch(spark, name, each, ansi) for ansi in ("true", "false") for each in KINDS[kind])


def _mismatch(spark: SparkSession, name: str, kind: str, ansi: str) -> bool:
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        said = _said(spark, f"select `{name}`(c) from (select cast(null as {kind}) as c from range(1))")
        return "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE" in said
    finally:
        spark.conf.set("spark.sql.ansi.enabled", str(before))


def _said(spark: SparkSession, text: str) -> str:
    try:
        spark.sql(text)
    except PySparkException as e:
        return str(e.getCondition())
    return ""


def line(spark: SparkSession, name: str) -> str:
    counts = [count for count in range(MOST + 1) if takes(spark, name, count)]
    words = [name, _counts(counts)]
    if 1 in counts:
        refused = [kind for kind in KINDS if refuses(spark, name, kind)]
        words += refused if len(refused) < len(KINDS) else []
    return " ".join(words)


def _counts(counts: Sequence[int]) -> str:
    if not counts:
        return "0+"
    if list(counts) != list(range(counts[0], counts[-1] + 1)):
        return ",".join(map(str, counts)) + ("+" if counts[-1] == MOST else "")
    if counts[-1] == MOST:
        return f"{counts[0]}+"
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]}-{counts[-1]}"


def lines(spark: SparkSession) -> Iterable[str]:
    return (line(spark, name) for name in names(spark))


if __name__ == "__main__":
    from headrace.testing import driver

    for each in lines(driver.spark()):
        print(each, flush=True)
