"""Durations as people write them."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.errors import PlanError
from headrace.plan import durations


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("5 mins", 300_000_000),
        ("5 min", 300_000_000),
        ("5min", 300_000_000),
        ("5m", 300_000_000),
        ("1 hr", 3_600_000_000),
        ("2 hrs", 7_200_000_000),
        ("2h 30m", 9_000_000_000),
        ("10 secs", 10_000_000),
        ("10 sec", 10_000_000),
        ("10s", 10_000_000),
        ("250 ms", 250_000),
        ("250 msecs", 250_000),
        ("250 millis", 250_000),
        ("7 us", 7),
        ("7 µs", 7),
        ("7 micros", 7),
        ("3d", 259_200_000_000),
        ("2 Weeks", 1_209_600_000_000),
        ("1w", 604_800_000_000),
        ("1.5 hours", 5_400_000_000),
    ],
)
def test_common_abbreviations_are_durations(text: str, micros: int) -> None:
    assert durations.parse(text) == micros


@pytest.mark.parametrize(
    ("text", "unit"), [("1 month", "months"), ("2 mons", "months"), ("1 quarter", "quarters"), ("1 Year", "years")]
)
def test_a_month_is_not_a_duration_and_says_what_is(text: str, unit: str) -> None:
    with pytest.raises(PlanError) as caught:
        hr.tumbling(text)
    assert caught.value.message == f"size={text!r} is not a duration: {unit} differ in length"
    assert caught.value.fix == 'for windows by the calendar write hr.calendar("month"); for a length, "30 days"'


@pytest.mark.parametrize("text", ["", "5", "minutes", "5 parsecs", "-5 s", "5 minutes ago", "1 month 2 days", "5 m in"])
def test_anything_else_says_how_to_write_one(text: str) -> None:
    with pytest.raises(PlanError) as caught:
        hr.tumbling(text)
    assert caught.value.message == f"size={text!r} is not a duration"
    assert caught.value.fix == 'write "5 minutes", "1 hour 30 minutes", "250 ms" or a timedelta'
