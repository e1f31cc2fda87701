"""`hr.sources.files`: what it takes, what it refuses at the user's line, and which places are its own."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import headrace as hr
from headrace.errors import PlanError
from headrace.sources.files import Files

SCHEMA = "k string, v int"


def reading(source: Files, schema: str = SCHEMA) -> hr.App:
    app = hr.App("a")
    app.stream(source, schema=schema).to("out")
    return app


REFUSED: dict[str, tuple[Callable[[], object], str, str]] = {
    "nothing": (lambda: hr.sources.files(""), "needs a path", 'files("data/trades")'),
    "a number": (lambda: hr.sources.files(5), "needs a path, not 5", 'files("data/trades")'),  # type: ignore[arg-type]
    "an unknown format": (lambda: hr.sources.files("d", format="orc"), "format='orc' is not known", "'parquet'"),  # type: ignore[arg-type]
    "a long delimiter": (lambda: hr.sources.files("d", format="csv", delimiter="||"), "must be one ASCII character", '";"'),
    "a delimiter of JSON": (lambda: hr.sources.files("d", delimiter=";"), "delimiter= is for CSV", 'format="csv"'),
    "a pattern of folders": (lambda: hr.sources.files("d*/a.json"), "matches folders", "the folder above"),
    "a format beside it": (
        lambda: hr.App("a").stream(hr.sources.files("d"), schema=SCHEMA, format="json"),
        "the files 'd' say their format themselves",
        "leave format= out",
    ),
    "a start beside it": (
        lambda: hr.App("a").stream(hr.sources.files("d"), schema=SCHEMA, start="latest"),
        "start= is an option of the source",
        "",
    ),
    "no schema": (lambda: hr.App("a").stream(hr.sources.files("d")), "has no schema", "add schema="),
    "an array in CSV": (
        lambda: reading(hr.sources.files("d", format="csv"), "k array<int>"),
        "a cell of a CSV file holds a single value",
        "from_json(k",
    ),
    "a table without a version": (
        lambda: hr.App("a").table(hr.sources.files("d"), key="k", schema=SCHEMA),
        "whose rows have no order",
        "version=",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_refused_at_the_users_line(case: str) -> None:
    make, message, fix = REFUSED[case]
    with pytest.raises(PlanError) as refused:
        make()
    assert message in refused.value.message
    assert fix in (refused.value.fix or "")
    assert refused.value.where is not None
    assert refused.value.where.file.endswith("test_files.py")


def test_a_source_is_its_folder_and_pattern_however_they_are_spelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spelled = [hr.sources.files(each) for each in ("data", "./data/", tmp_path / "data", "../" + tmp_path.name + "/data")]
    assert {source.identity for source in spelled} == {f"the files {tmp_path}/data"}
    assert hr.sources.files("data/*.json").identity == f"the files {tmp_path}/data/*.json"
    assert len(set(spelled)) == 1


@pytest.mark.parametrize(
    ("path", "file", "found"),
    [
        ("/d", "file:/d/a.json", True),
        ("/d", "file:///d/below/a.json", True),
        ("/d/a.json", "file:/d/a.json", True),
        ("/d", "file:/data/a.json", False),
        ("/d/*.json", "file:/d/below/a.json", True),
        ("/d/*.json", "file:/d/a.csv", False),
        ("/d/{a,b}?.csv", "file:/d/a1.csv", True),
        ("/d e%ü", "file:/d%20e%25ü/a.json", True),
        ("s3a://bucket/d", "s3a://bucket/d/a.json", True),
        ("s3a://bucket/d", "file:/d/a.json", False),
        ("/d", "trades", False),
    ],
)
def test_a_records_place_says_whether_it_is_of_a_source(path: str, file: str, found: bool) -> None:
    assert (re.fullmatch(hr.sources.files(path).places, file) is not None) is found


def test_the_place_of_a_record_comes_with_a_command_that_shows_it() -> None:
    assert hr.sources.files("/d").place("file:/d%20e/a.json", 0, 12) == (
        "file /d e/a.json, byte 12",
        "tail -c +13 '/d e/a.json' | head -n 1",
    )
    assert hr.sources.files("/d", format="parquet").place("file:///d/a.parquet", 0, 12)[0] == "file /d/a.parquet, row 12"


def test_describe_names_the_files_as_the_user_does() -> None:
    described = reading(hr.sources.files("data/*.csv", format="csv")).describe()
    assert "files data/*.csv (csv)" in described
    assert os.getcwd() not in described
