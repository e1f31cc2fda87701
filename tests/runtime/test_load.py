"""What is wrong in the user's file is said at its line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.errors import PlanError
from headrace.runtime.load import load

APP = """import headrace as hr
app = hr.App("a")
s = app.stream("t", schema="v int, k string")
"""


def wrong(tmp_path: Path, line: str) -> PlanError:
    file = tmp_path / "app.py"
    file.write_text(f"{APP}{line}\n")
    with pytest.raises(PlanError) as caught:
        load(str(file))
    assert caught.value.where is not None
    assert (caught.value.where.line, caught.value.where.code) == (4, line)
    return caught.value


LOADED = """
import json, sys
from headrace.errors import PlanError
from headrace.runtime.load import load
for file in sys.argv[1:]:
    try:
        load(file)
    except PlanError as e:
        print(json.dumps([e.message, e.fix, e.where.line]))
"""


def test_functions_of_pyspark_are_answered_with_text(tmp_path: Path) -> None:
    files: list[Path] = []
    for number, expression in enumerate(('F.col("v") > 1', 'F.expr("v > 1")', 'F.upper("k") == "A"')):
        files.append(tmp_path / f"app{number}.py")
        files[-1].write_text(f"{APP}from pyspark.sql import functions as F; s.where({expression}).to('out')\n")
    # In a process of its own: another test may have started Spark in this one.
    done = subprocess.run([sys.executable, "-c", LOADED, *files], capture_output=True, text=True, timeout=100)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(said) == len(files), done.stderr
    for message, fix, line in said:
        assert message == "pyspark's functions need a running Spark, and there is none while the application is declared"
        assert fix.startswith('expressions are SQL text: where("v > 1")')
        assert line == 4


@pytest.mark.parametrize(
    ("line", "said"), [("assert 1 == 2", "AssertionError"), ("1 / 0", "ZeroDivisionError: division by zero")]
)
def test_any_other_exception_is_shown_as_it_is(tmp_path: Path, line: str, said: str) -> None:
    assert wrong(tmp_path, line).message == f"{tmp_path / 'app.py'} can't be loaded: {said}"


def test_an_error_of_ours_stays_what_it_is(tmp_path: Path) -> None:
    assert wrong(tmp_path, "s.filter('v > 1')").message == "a stream has no 'filter'"
