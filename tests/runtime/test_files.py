"""Folders of files as sources of a run against a real broker."""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest

import headrace as hr
from headrace.errors import SourceError
from headrace.runtime import dead
from headrace.runtime.state import location
from tests.runtime.test_handle import Batches
from tests.runtime.test_run import rows_of, run

SCHEMA = "id int, name string, price double, at timestamp"


@pytest.fixture
def project(spark: Any, broker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    return broker


def copying(out: str, path: str = "data", **options: Any) -> hr.App:
    app = hr.App(f"copy-{out}")
    app.stream(hr.sources.files(path, **options), schema=SCHEMA).select("id", "name", "price").to(out)
    return app


def put(name: str, content: str | bytes) -> None:
    """As a whole, under its name."""
    part = Path("data") / f".{name.replace('/', '-')}"
    part.write_bytes(content if isinstance(content, bytes) else content.encode())
    (Path("data") / name).parent.mkdir(exist_ok=True, parents=True)
    part.rename(Path("data") / name)


def lines(*ids: int) -> str:
    return "".join(json.dumps({"id": id, "name": f"n{id}", "price": id / 2}) + "\n" for id in ids)


def ids(broker: Any, out: str) -> list[int]:
    return sorted(row["id"] for row in rows_of(broker, out))


def dead_letters(broker: Any, out: str) -> dict[str, str]:
    """Value -> cause."""
    return {(letter.value or b"").decode(): letter.cause for letter in dead.letters(broker.connection, f"copy-{out}")}


def test_each_file_is_read_once_whatever_the_runs(project: Any, topic: str) -> None:
    put("a.json", lines(1, 2))
    put("below/b.json", lines(3))
    run(copying(topic), project)
    put("c.json.gz", gzip.compress(lines(4, 5).encode()))
    run(copying(topic), project)
    run(copying(topic), project)
    assert ids(project, topic) == [1, 2, 3, 4, 5]


def test_a_pattern_chooses_files_by_name(project: Any, topic: str) -> None:
    put("a.json", lines(1))
    put("a.txt", "not for us\n")
    run(copying(topic, "data/*.json"), project)
    assert ids(project, topic) == [1]
    assert not dead_letters(project, topic)


def test_malformed_lines_are_dead_letters_with_their_bytes_and_place(project: Any, topic: str) -> None:
    put("a.json", lines(1) + "{oops\n\n" + lines(2) + '{"id": "x"}')
    run(copying(topic), project)
    assert ids(project, topic) == [1, 2]
    found = dead_letters(project, topic)
    assert set(found) == {"{oops", '{"id": "x"}'}
    places = {letter.offset for letter in dead.letters(project.connection, f"copy-{topic}")}
    text = Path("data/a.json").read_text()
    assert places == {text.index("{oops"), text.index('{"id": "x"}')}


@pytest.mark.parametrize("seed", range(3))
def test_csv_is_read_as_duckdb_reads_it(project: Any, topic: str, seed: int) -> None:
    draw = random.Random(seed)
    words = ["plain", "with, comma", 'a "quote"', "two\nlines", "Übergröße", " space ", "日本"]
    rows = [(i, draw.choice(words), draw.choice(["", "1.5", "-2e3"])) for i in range(200)]
    for number in range(3):
        columns = draw.sample(["id", "name", "price", "extra"], 4)
        with open(f"data/.{number}.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator=draw.choice(["\n", "\r\n"]))
            writer.writerow(columns)
            for id, name, price in rows[number::3]:
                row = {"id": id, "name": name, "price": price, "extra": "x"}
                writer.writerow([row[column] for column in columns])
        os.rename(f"data/.{number}.csv", f"data/{number}.csv")
    run(copying(topic, "data/*.csv", format="csv"), project)
    expected = duckdb.sql(
        "select id, name, price from read_csv('data/*.csv', union_by_name=true, header=true, quote='\"', new_line='\\n', "
        "columns=NULL, types={'id': 'INT', 'name': 'VARCHAR', 'price': 'DOUBLE'}) order by id".replace(
            "columns=NULL, ", ""
        ).replace("new_line='\\n', ", "")
    ).fetchall()
    found = sorted((row["id"], row["name"], row["price"]) for row in rows_of(project, topic))
    assert found == expected
    assert not dead_letters(project, topic)


def test_malformed_csv_rows_are_dead_letters_that_say_why(project: Any, topic: str) -> None:
    put("a.csv", 'id;name;price\n1;"a;b";2\nx;b;1\n3;c\n4;"d" e;1\n\n5;;\n')
    run(copying(topic, format="csv", delimiter=";"), project)
    rows = {row["id"]: (row["name"], row["price"]) for row in rows_of(project, topic)}
    assert rows == {1: ("a;b", 2.0), 5: (None, None)}
    assert dead_letters(project, topic) == {
        "x;b;1": "field id: 'x' is not a int",
        "3;c": "2 cells, and the header has 3",
        '4;"d" e;1': "text after a closing quote",
    }


def test_a_csv_file_with_another_delimiter_says_so(project: Any, topic: str) -> None:
    put("a.csv", "id;name\n1;a\n")
    run(copying(topic, format="csv"), project)
    assert dead_letters(project, topic) == {"1;a": "none of the columns is in the header: id;name"}


def test_parquet_is_read_with_its_types_and_rows_without_their_time_are_dead_letters(project: Any, topic: str) -> None:
    duckdb.sql(
        "copy (select i::int id, 'n' || i as name, i / 2 price, "
        "case when i = 3 then null else timestamptz '2026-01-01 00:00:00+00' end as at from range(5) t(i)) "
        "to 'data/a.parquet' (format parquet)"
    )
    app = hr.App(f"copy-{topic}")
    app.stream(hr.sources.files("data", format="parquet"), schema=SCHEMA, time="at").select("id", "name", "price").to(topic)
    run(app, project)
    assert sorted((row["id"], row["price"]) for row in rows_of(project, topic)) == [(0, 0.0), (1, 0.5), (2, 1.0), (4, 2.0)]
    ((value, cause),) = dead_letters(project, topic).items()
    assert json.loads(value)["id"] == 3
    assert cause == "field at: missing"


def test_a_row_that_fails_later_is_a_dead_letter_with_its_bytes(project: Any, topic: str) -> None:
    put("a.json", lines(1, 2, 4))
    app = hr.App(f"copy-{topic}")
    app.stream(hr.sources.files("data"), schema=SCHEMA).select("id", "10 / (id - 2) as x").to(topic)
    run(app, project)
    assert ids(project, topic) == [1, 4]
    assert [json.loads(value)["id"] for value in dead_letters(project, topic)] == [2]


def test_a_file_that_changed_after_it_was_read_stops_the_next_run(project: Any, topic: str) -> None:
    put("a.json", lines(1))
    run(copying(topic), project)
    with open("data/a.json", "a") as file:
        file.write(lines(2))
    with pytest.raises(SourceError, match=r"a\.json changed after it was read") as refused:
        run(copying(topic), project)
    assert refused.value.where is not None
    put("b.json", lines(2))
    os.remove("data/a.json")
    run(copying(topic), project)
    assert ids(project, topic) == [1, 2]


def test_a_folder_that_vanishes_stops_the_run_that_follows_it(project: Any, topic: str) -> None:
    put("a.json", lines(1))
    batches = Batches()
    app = copying(topic)
    with app.start(broker=project.address, on_event=batches) as handle:
        batches.wait(1)
        os.rename("data", "gone")
        with pytest.raises(SourceError, match=r"there is no .*data"):
            handle.wait(60)
    os.rename("gone", "data")
    put("b.json", lines(2))
    run(copying(topic), project)
    assert ids(project, topic) == [1, 2]


def test_a_folder_that_is_not_there_is_refused_at_the_users_line(project: Any, topic: str) -> None:
    with pytest.raises(SourceError, match=r"there is no .*nowhere") as refused:
        run(copying(topic, "nowhere"), project)
    assert refused.value.where is not None
    assert "mkdir -p" in (refused.value.fix or "")


def test_a_file_that_vanishes_before_it_was_read_is_missed_by_nobody(project: Any, topic: str) -> None:
    put("a.json", lines(1))
    app = copying(topic)
    run(app, project)
    # As after a crash between planning a batch and committing it.
    (spec,) = app.queries()
    place = Path(location(".headrace/state", spec).removeprefix("file://"))
    for commit in (place / "commits").iterdir():
        commit.unlink()
    os.remove("data/a.json")
    with pytest.raises(SourceError, match=r"a\.json vanished before it was read"):
        run(copying(topic), project)
