"""A function that does not exist is refused at the line, without Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headrace as hr
from headrace.errors import PlanError


@hr.udf("double")
def fee(price: float) -> float:
    return price * 0.01


def plain(price: float) -> float:
    return price


def stream() -> Any:
    return hr.App("a").stream("t", schema="k string, v double, xs array<double>")


WRONG: dict[str, tuple[Callable[[], object], str, str]] = {
    "a misspelt one": (lambda: stream().where("uper(k) = 'A'"), "there is no function uper()", "did you mean upper()?"),
    "in an aggregate": (lambda: stream().agg(n="summ(v)"), "there is no function summ()", "did you mean sum()?"),
    "in a lambda": (lambda: stream().select("transform(xs, x -> rond(x)) as r"), "there is no function rond()", "round()?"),
    "in backticks": (lambda: stream().select("`uper`(k) as u"), "there is no function uper()", "did you mean upper()?"),
    "one of ours, misspelt": (lambda: stream().select("fees(v) as f"), "there is no function fees()", "did you mean fee()?"),
    "one of ours, in capitals": (lambda: stream().select("FEE(v) as f"), "there is no function FEE()", "did you mean fee()?"),
    "one that is not marked": (lambda: stream().select("plain(v) as p"), "plain() is a plain Python function", "put @hr.udf("),
    "nothing like it": (lambda: stream().where("xyzzy(k)"), "there is no function xyzzy()", "Spark's SQL functions, and yours"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_function_that_does_not_exist_names_the_one_that_does(case: str) -> None:
    make, message, fix = WRONG[case]
    with pytest.raises(PlanError) as caught:
        make()
    assert caught.value.message == message
    assert fix in (caught.value.fix or "")
    assert caught.value.where is not None
    assert caught.value.where.file.endswith("test_functions.py")


def test_what_spark_knows_passes() -> None:
    """Functions that the parser knows or not, clauses that look like functions, functions of a catalog."""
    for text in (
        "hll_sketch_estimate(hll_sketch_agg(k))",
        "histogram_numeric(v, 5)",
        "count(distinct k) filter (where v in (1, 2))",
        "timestampadd(SECOND, 1, current_timestamp())",
        "cast(v as decimal(10, 2))",
        "main.default.mine(k)",
        "UPPER(k)",
        "any_value(k) ignore nulls",
        "percentile_cont(0.5) within group (order by v)",
        "identifier('k')",
    ):
        stream().agg(x=text)


OTHER: dict[str, tuple[Callable[[], object], str, str]] = {
    "a list": (lambda: stream().select(["k", "v"]), "given one by one, not as a list", "put a star before the list: *columns"),
    "a list of keys": (lambda: stream().key_by(["k"]), "given one by one, not as a list", "*columns"),
    "a function": (
        lambda: stream().where(lambda row: row),
        "is a function, and expressions are SQL text",
        "mark it with @hr.udf",
    ),
    "a number": (lambda: stream().where(3), "3 is not an expression", 'expressions are SQL text: "price > 10"'),
}


@pytest.mark.parametrize("case", OTHER)
def test_what_is_no_text_says_what_to_write(case: str) -> None:
    make, message, fix = OTHER[case]
    with pytest.raises(PlanError) as caught:
        make()
    assert message in caught.value.message
    assert fix in (caught.value.fix or "")
