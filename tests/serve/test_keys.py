"""Keys as bytes sort as their values do, and prefixes are ranges."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.serve import keys

DATES = st.dates().map(str)
TIMES = st.datetimes(datetime(1800, 1, 1), datetime(2400, 1, 1)).map(lambda t: t.replace(tzinfo=UTC).isoformat())
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**12), max_value=10**12)
KINDS: dict[str, tuple[st.SearchStrategy[Any], Any]] = {
    "string": (st.text(st.characters(codec="utf-8"), max_size=40), lambda v: v.encode()),
    "bigint": (st.integers(-(2**63), 2**63 - 1), lambda v: v),
    "double": (st.floats(allow_nan=False), lambda v: v),
    "decimal(20,4)": (DECIMALS, lambda v: Decimal(v)),
    "boolean": (st.booleans(), lambda v: v),
    "date": (DATES, lambda v: v),
    "timestamp": (TIMES, lambda v: datetime.fromisoformat(v)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_sort_as_values_do(kind: str) -> None:
    values, order = KINDS[kind]

    @given(st.none() | values, st.none() | values)
    def check(a: Any, b: Any) -> None:
        first, second = keys.encode([a], [kind]), keys.encode([b], [kind])
        if a is None or b is None:
            # null is before everything.
            assert (first < second) == (a is None and b is not None)
        else:
            assert (first < second) == (order(a) < order(b))
            assert (first == second) == (order(a) == order(b))

    check()


@given(st.lists(st.tuples(st.text(max_size=6), st.integers(-5, 5)), max_size=30), st.text(max_size=6))
def test_a_prefix_is_a_range(pairs: list[tuple[str, int]], first: str) -> None:
    types = ("string", "int")
    start = keys.prefix([first], types)
    stop = keys.after(start)
    found = {pair for pair in pairs if start <= keys.encode(pair, types) and (stop is None or keys.encode(pair, types) < stop)}
    assert found == {pair for pair in pairs if pair[0] == first}
    start = keys.prefix([], types, begins=first)
    stop = keys.after(start)
    found = {pair for pair in pairs if start <= keys.encode(pair, types) and (stop is None or keys.encode(pair, types) < stop)}
    assert found == {pair for pair in pairs if pair[0].startswith(first)}


@given(st.text(max_size=600), st.integers(-5, 5))
def test_the_key_of_a_record_is_the_key_of_its_values(name: str, number: int) -> None:
    of = keys.of_record(("string",), ("name",))
    assert of(name.encode()) == keys.encode([name], ["string"])
    assert of(b'{"name":null}') == keys.encode([None], ["string"])
    several = keys.of_record(("string", "int"), ("name", "n"))
    assert several(json.dumps({"name": name, "n": number}).encode()) == keys.encode([name, number], ["string", "int"])
    assert keys.of_record(("int",), ("n",))(str(number).encode()) == keys.encode([number], ["int"])


@pytest.mark.parametrize(
    ("value", "kind"), [("x", "int"), (1.5, "bigint"), ("maybe", "boolean"), ("soon", "timestamp"), ("1e", "decimal")]
)
def test_a_value_of_another_type_is_refused(value: Any, kind: str) -> None:
    with pytest.raises(keys.KeyRefused, match=f"is no {kind}"):
        keys.encode([value], [kind])


def test_a_record_without_a_json_key_is_refused() -> None:
    with pytest.raises(keys.KeyRefused, match="not a JSON object of a, b"):
        keys.of_record(("int", "int"), ("a", "b"))(b"7")
