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
    return hr.App("a").stream("t", schema="k string, v double, xs array<double>, ok boolean, at timestamp")


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


WRONG |= {
    "too few arguments": (
        lambda: stream().where("substring(k) = 'a'"),
        "substring() takes 2 to 3 arguments, not 1",
        "SQL functions",
    ),
    "too many": (lambda: stream().select("upper(k, 'x') as u"), "upper() takes 1 argument, not 2", "see upper in Spark's"),
    "none": (lambda: stream().agg(n="sum()"), "sum() takes 1 argument, not 0", "see sum"),
    "in another's arguments": (lambda: stream().select("concat(k, upper(k, ',')) as u"), "upper() takes 1 argument, not 2", ""),
    "too many for ours": (lambda: stream().select("fee(v, 2) as f"), "fee() is called with 2 arguments", "takes: price"),
    "a sum of booleans": (
        lambda: stream().agg(n="sum(ok)"),
        "sum() can't be called with 'ok', which is a boolean",
        "convert it: sum(cast(ok as int))",
    ),
    "an average of arrays": (
        lambda: stream().where("v > 1").key_by("k").agg(n="avg(xs)"),
        "avg() can't be called with 'xs', which is an array<double>",
        "it can be called with: number",
    ),
    "of a renamed column": (
        lambda: stream().select("k", "ok as fine").where("fine").agg(n="avg(fine)"),
        "avg() can't be called with 'fine', which is a boolean",
        "convert it: avg(cast(fine as int))",
    ),
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
        "count(distinct k, v)",
        "trim(both 'x' from k)",
        "substring(k from 2 for 3)",
        "position('a' in k)",
        "dateadd(DAY, 1, at)",
        "date_diff(HOUR, at, current_timestamp())",
        "extract(year from at)",
        "v in (1, 2, 3) and (ok or not (v > 1))",
        "k like any ('a%', 'b%')",
        "sum(v) filter (where ok)",
        "sum(v::decimal(10, 2))",
        "size(cast(null as map<string, decimal(10, 2)>))",
        "transform(xs, (x, i) -> x + i)",
        "transform(xs, ok -> abs(ok))",
        "concat_ws(',', k, 'a, b')",
        "element_at(map(k, v, 'x', 1), k)",
        "case when (v > 1) then (1) else (2) end",
        "xs[size(xs) - 1] div (2)",
        "sum(cast(ok as int))",
        "to_json(named_struct('a', 1, 'b', 2))",
        "max_by(k, struct(v, at))",
        "if(ok, 1, 2)",
        "interval '1' day + at",
        "coalesce(left(k, 2), right(k, 1), '')",
        "-- upper(a, b)\n v",
    ):
        stream().agg(x=text)


def test_a_column_whose_type_an_expression_has_changed_is_left_to_spark() -> None:
    stream().with_columns(ok="cast(ok as int)").agg(n="sum(ok)")
    stream().select("k", "v as ok").agg(n="sum(ok)")


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
