"""What is read of files, beside what others read of them, and where each record is."""

from __future__ import annotations

import bz2
import gzip
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import DataFrame, SparkSession

LINES, CSV = "headrace.kernel.file.LineFiles", "headrace.kernel.file.CsvFiles"
COLUMNS = ("id", "name", "note")
WORDS = (
    "plain",
    "two\nlines",
    "three\r\n\nlines",
    'a "quote"',
    '"',
    "Übergröße 日本",
    " space ",
    "",
    None,
    "a,b;c\td",
    "'",
    "\\",
)


def lines(spark: SparkSession, path: Path) -> DataFrame:
    return spark.read.format(LINES).schema("_raw binary, _offset bigint").load(str(path))


def cells(spark: SparkSession, path: Path, delimiter: str = ",", columns: tuple[str, ...] = COLUMNS) -> DataFrame:
    fields = ", ".join(f"`{name}` string" for name in columns)
    reader = spark.read.format(CSV).options(delimiter=delimiter, columns="\0".join(columns))
    return reader.schema(f"{fields}, _bad string, _raw binary, _offset bigint").load(str(path))


def put(file: Path, content: str | bytes) -> bytes:
    raw = content if isinstance(content, bytes) else content.encode()
    file.write_bytes(raw)
    return raw


def cell(value: str | None, delimiter: str, dice: random.Random) -> str:
    """As programs write it: quoted if need be, or as they like; only quotes make an empty text of nothing."""
    if value is None:
        return ""
    if value == "" or any(each in value for each in f'"\r\n{delimiter}') or dice.random() < 0.2:
        return '"' + value.replace('"', '""') + '"'
    return value


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_is_what_duckdb_reads(spark: SparkSession, tmp_path: Path, delimiter: str) -> None:
    expected: list[tuple[Any, ...]] = []
    for seed in range(60):
        dice = random.Random(f"{seed}{delimiter}")
        columns = dice.sample([*COLUMNS, "extra", "more"], dice.randrange(2, 6))
        if "id" not in columns:
            columns[0] = "id"
        newline = dice.choice(("\n", "\r\n"))
        rows = [
            [f"{seed}-{row}" if name == "id" else dice.choice(WORDS) for name in columns] for row in range(dice.randrange(30))
        ]
        text = newline.join(delimiter.join(cell(value, delimiter, dice) for value in row) for row in (columns, *rows))
        bom = dice.choice((b"", b"\xef\xbb\xbf"))
        put(tmp_path / f"{seed}.csv", bom + (text + dice.choice(("", newline))).encode())
        chosen = ", ".join(name if name in columns else "null" for name in COLUMNS)
        expected += duckdb.sql(
            f"select {chosen} from read_csv('{tmp_path}/{seed}.csv', auto_detect=false, header=true, delim='{delimiter}', "
            f"quote='\"', escape='\"', nullstr='', allow_quoted_nulls=false, columns={dict.fromkeys(columns, 'VARCHAR')})"
        ).fetchall()
    found = cells(spark, tmp_path, delimiter)
    assert not found.where("_bad is not null").collect()
    assert Counter(map(tuple, found.select(*COLUMNS).collect())) == Counter(expected)
    assert len(expected) > 500


def test_a_row_of_csv_is_bad_alone(spark: SparkSession, tmp_path: Path) -> None:
    text = 'id,name,note\n1,a,b\n2,a\n5,"a"x,b\n6,a,b,c\n,,\n\n7,"",\n3,"a,b\n4,a,b\n8,a,b'
    put(tmp_path / "a.csv", text)
    rows = cells(spark, tmp_path).collect()
    assert [(row._offset, row._raw.decode(), row._bad) for row in rows if row._bad] == [
        (text.index(raw), raw, cause)
        for raw, cause in (
            ("2,a", "2 cells, and the header has 3"),
            ('5,"a"x,b', "text after a closing quote"),
            ("6,a,b,c", "4 cells, and the header has 3"),
            ('3,"a,b', "a quote that is never closed"),
        )
    ]
    good = [(row.id, row.name, row.note) for row in rows if not row._bad]
    assert good == [("1", "a", "b"), (None, None, None), ("7", "", None), ("4", "a", "b"), ("8", "a", "b")]


def test_a_header_without_any_of_the_columns_or_with_one_twice_makes_all_rows_bad(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "a.csv", "x,y\n1,a\n")
    put(tmp_path / "b.csv", "id,name,id\n1,a,2\n")
    put(tmp_path / "c.csv", "id,x,x,\n9,a,2,\n")
    put(tmp_path / "d.csv", "id,name\n")
    put(tmp_path / "e.csv", b"")
    rows = cells(spark, tmp_path).collect()
    assert {row._raw.decode(): row._bad for row in rows} == {
        "1,a": "none of the columns is in the header: x,y",
        "1,a,2": "the header has the column 'id' twice",
        "9,a,2,": None,
    }


def test_lines_are_read_once_wherever_spark_cuts_a_file(spark: SparkSession, tmp_path: Path) -> None:
    dice = random.Random(4)
    text = ["x" * dice.choice((0, 1, 7, 8, 9, 63, 64, 65, 200)) for _ in range(400)]
    raw = put(
        tmp_path / "a.json", b"\xef\xbb\xbf" + "".join(each + dice.choice(("\n", "\r\n")) for each in text).encode() + b"end"
    )
    most = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "64")
    try:
        found = lines(spark, tmp_path)
        assert found.rdd.getNumPartitions() > 100
        rows = sorted((row._offset, row._raw.decode()) for row in found.collect())
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", most or "128MB")
    assert [line for _, line in rows] == [*filter(None, text), "end"]
    assert all(raw[place : place + len(line)] == line.encode() for place, line in rows)


def test_compressed_files_are_unpacked(spark: SparkSession, tmp_path: Path) -> None:
    content = "".join(json.dumps({"id": id}) + "\n" for id in range(1000)).encode()
    put(tmp_path / "a.json.gz", gzip.compress(content[:5000]) + gzip.compress(content[5000:]))
    put(tmp_path / "b.json.bz2", bz2.compress(content))
    (tmp_path / "plain").mkdir()
    put(tmp_path / "plain" / "c.json", content)
    duckdb.sql(f"copy (select 1 as id) to '{tmp_path}/plain/d.json.zst' (format json, compression zstd)")
    assert lines(spark, tmp_path / "a.json.gz").count() == 1000
    assert lines(spark, tmp_path / "b.json.bz2").count() == 1000
    assert lines(spark, tmp_path / "plain" / "d.json.zst").collect()[0]._raw == b'{"id":1}'
    places = [{row._offset for row in lines(spark, tmp_path / name).collect()} for name in ("a.json.gz", "plain/c.json")]
    assert places[0] == places[1]
