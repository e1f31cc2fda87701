"""What is wrong in the user's file is said at its line."""

from __future__ import annotations

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


@pytest.mark.parametrize("expression", ['F.col("v") > 1', 'F.expr("v > 1")', 'F.upper("k") == "A"'])
def test_functions_of_pyspark_are_answered_with_text(tmp_path: Path, expression: str) -> None:
    error = wrong(tmp_path, f"from pyspark.sql import functions as F; s.where({expression}).to('out')")
    assert error.message == "pyspark's functions need a running Spark, and there is none while the application is declared"
    assert error.fix is not None
    assert error.fix.startswith('expressions are SQL text: where("v > 1")')


@pytest.mark.parametrize(
    ("line", "said"), [("assert 1 == 2", "AssertionError"), ("1 / 0", "ZeroDivisionError: division by zero")]
)
def test_any_other_exception_is_shown_as_it_is(tmp_path: Path, line: str, said: str) -> None:
    assert wrong(tmp_path, line).message == f"{tmp_path / 'app.py'} can't be loaded: {said}"


def test_an_error_of_ours_stays_what_it_is(tmp_path: Path) -> None:
    assert wrong(tmp_path, "s.filter('v > 1')").message == "a stream has no 'filter'"
