from __future__ import annotations

from typing import Any

import pytest

from headrace.effects.template import checked, parts, render, template_columns
from headrace.errors import PlanError, Where

HERE = Where("app.py", 1)


@pytest.mark.parametrize(
    ("template", "columns"),
    [
        ("{symbol} moved", ("symbol",)),
        ("{a}{b}{a}", ("a", "b")),
        ("no columns", ()),
        ("{{not}} {one}", ("one",)),
        ("{größe}", ("größe",)),
    ],
)
def test_the_columns_of_a_template_are_what_is_in_braces(template: str, columns: tuple[str, ...]) -> None:
    assert template_columns(template) == columns


@pytest.mark.parametrize(
    "wrong",
    ["{a.b}", "{a[0]}", "{a!r}", "{a:>10}", "{a:{b}}", "{}", "{0}", "{", "}", "a } b", "{ a }", "{a", "{a.__class__.__init__}"],
)
def test_only_plain_names_may_be_in_braces(wrong: str) -> None:
    with pytest.raises(PlanError) as caught:
        checked(f"text {wrong} text", "subject", HERE)
    assert "not a column in braces" in caught.value.message


def test_a_name_reaches_no_attribute() -> None:
    with pytest.raises(KeyError):
        render("{__class__}", {"a": 1})


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", "x"), (1, "1"), (0.5, "0.5"), (True, "true"), (None, ""), ({"a": [1]}, '{"a": [1]}'), ("{b}", "{b}"), ("ä", "ä")],
)
def test_a_value_is_shown_as_in_json_and_text_as_it_is(value: Any, text: str) -> None:
    assert render("<{a}>", {"a": value, "b": "never"}) == f"<{text}>"


def test_parts_are_text_and_column_by_turns() -> None:
    assert parts("a{b}c{{{d}") == (("a", "b"), ("c{", "d"))
    assert parts("{b}c") == (("", "b"), ("c", None))


def test_a_template_is_a_text_with_something_in_it() -> None:
    for wrong in ("", "  ", None, 5):
        with pytest.raises(PlanError) as caught:
            checked(wrong, "subject", HERE)
        assert "is not text" in caught.value.message
