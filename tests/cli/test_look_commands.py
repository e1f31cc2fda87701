"""check, describe, doctor and new: what they show, and how they say what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.cli import main

GOOD = """
import headrace as hr

app = hr.App("market")
trades = app.stream("trades", schema="symbol string, price double, at timestamp", time="at", lateness="10 seconds")
trades.key_by("symbol").window(hr.tumbling("5 seconds")).agg(low="min(price)").to("lows")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(GOOD)
    return tmp_path


def change(project: Path, old: str, new: str) -> None:
    assert old in GOOD
    (project / "app.py").write_text(GOOD.replace(old, new))


def test_check_finds_nothing_wrong_with_a_good_application(
    project: Path, spark: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "app.py", "--spark"]) == 0
    assert "market: 1 query, no errors found" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("min(price)", "min(prise)", 6, "no column 'prise'"),
        ("min(price)", "minn(price)", 6, "error: there is no function minn()"),
        ("min(price)", "sum(symbol || 'x' > at)", 6, "data type mismatch"),
        ("price double", "price dubble", 5, "error: the schema's field 'price' has an unknown type: 'dubble'"),
        ('"5 seconds"', '"5 secs ago"', 6, "is not a duration"),
        ("hr.tumbling", "hr.tumble", 6, "error: headrace has no 'tumble'"),
        ('agg(low="min(price)")', 'agg(low="min(price)"', 6, "SyntaxError"),
    ],
)
def test_check_tells_a_mistake_at_its_line(
    project: Path, spark: object, capsys: pytest.CaptureFixture[str], old: str, new: str, line: int, words: str
) -> None:
    change(project, old, new)
    assert main(["check", "app.py", "--spark"]) == 1
    said = capsys.readouterr().err
    assert words in said
    assert f"app.py:{line}: " in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("min(price)", "minn(price)", 6, "fix: did you mean min()?"),
        ("min(price)", "min()", 6, "min() takes 1"),
        ("price double", "price dubble", 5, "fix: did you mean 'double'?"),
        ("price double", "price strng", 5, "fix: did you mean 'string'?"),
        ("min(price)", "avg(at) + sum(price, 1)", 6, "takes 1 argument, not 2"),
    ],
)
def test_check_finds_mistakes_without_spark(project: Path, old: str, new: str, line: int, words: str) -> None:
    change(project, old, new)
    checked = run_check()
    assert checked.returncode == 1
    assert words in checked.stderr
    assert f"app.py:{line}: " in checked.stderr
    assert not [line for line in checked.stderr.splitlines() if "import time" in line and "pyspark" in line]


def test_check_does_not_import_spark(project: Path) -> None:
    checked = run_check()
    assert checked.stdout == "market: 1 query, no errors found without Spark; --spark checks all types\n"
    assert "sqlglot" in checked.stderr
    assert "pyspark" not in checked.stderr


def run_check() -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "importtime", "-m", "headrace", "check", "app.py"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("text", "words"),
    [("x = 1", "has no App"), (GOOD + "\nother = hr.App('other')", "several Apps: app, other")],
)
def test_a_file_without_one_app_is_reported(project: Path, capsys: pytest.CaptureFixture[str], text: str, words: str) -> None:
    (project / "app.py").write_text(text)
    assert main(["describe", "app.py"]) == 1
    assert words in capsys.readouterr().err


def test_one_of_several_apps_is_named_after_a_colon(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "app.py").write_text(GOOD + "\nother = hr.App('other')")
    assert main(["describe", "app.py:app"]) == 0
    assert "app market" in capsys.readouterr().out
    assert main(["describe", "app.py:nothing"]) == 1
    assert "it has: app, other" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_reported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "nothing.py"]) == 1
    assert "there is no file nothing.py" in capsys.readouterr().err


def test_describe_draws_without_spark(project: Path) -> None:
    drawn = {
        form: subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "headrace", "describe", "app.py", "--format", form],
            capture_output=True,
            text=True,
            check=True,
        )
        for form in ("text", "mermaid", "json")
    }
    assert "query lows (update)" in drawn["text"].stdout
    assert drawn["mermaid"].stdout.startswith("flowchart LR")
    assert json.loads(drawn["json"].stdout)["queries"][0]["writes"] == ["lows"]
    assert "pyspark.sql" not in drawn["text"].stderr


def test_doctor_finds_this_machine_well(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["part"] for row in rows] == ["java", "spark", "kernel", "jars", "broker", "port", "disk"]
    assert {row["state"] for row in rows} == {"ok"}


def test_doctor_says_what_is_wrong(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert main(["doctor", "--broker", "127.0.0.1:1"]) == 1
    said = capsys.readouterr().out
    assert "WRONG" in said
    assert "JDK" in said
    assert "127.0.0.1:1" in said


def test_new_makes_a_project_once(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "clicks"]) == 0
    assert "cd clicks" in capsys.readouterr().out
    assert sorted(file.name for file in (project / "clicks").iterdir()) == [
        "README.md",
        "app.py",
        "clicks.jsonl",
        "headrace.toml",
        "test_app.py",
    ]
    assert main(["new", "clicks"]) == 1
    assert "exists already" in capsys.readouterr().err
