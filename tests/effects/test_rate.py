from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.effects.rate import Limit, Rate, checked
from headrace.errors import PlanError, Where

HERE = Where("app.py", 1)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("10 per minute", Rate(10, 60_000_000)),
        ("1 per 5 seconds", Rate(1, 5_000_000)),
        ("100 per hour", Rate(100, 3_600_000_000)),
        (None, None),
    ],
)
def test_a_rate_is_a_number_per_time(text: str | None, rate: Rate | None) -> None:
    assert checked(text, HERE) == rate


@pytest.mark.parametrize("wrong", ["10", "ten per minute", "0 per minute", "10/minute", "10 per moon", 10, "1000000 per day"])
def test_what_is_not_a_rate_is_refused(wrong: object) -> None:
    with pytest.raises(PlanError) as caught:
        checked(wrong, HERE)
    assert "rate=" in caught.value.message


def test_without_a_rate_there_is_no_limit() -> None:
    limit = Limit(None)
    limit.remember(range(1000))
    assert limit.free(1000, 32) == 32
    assert limit.wait(1000) == 0


@given(st.lists(st.integers(0, 50), min_size=1, max_size=200), st.integers(1, 5), st.integers(1, 100))
def test_no_stretch_of_the_period_has_more_than_the_count(gaps: list[int], count: int, period: int) -> None:
    limit, now, sent = Limit(Rate(count, period)), 0, list[int]()
    for gap in gaps:
        now += gap
        if limit.free(now, 1):
            assert limit.wait(now) == 0
            limit.remember([now])
            sent.append(now)
        else:
            assert limit.free(now + limit.wait(now) - 1, 1) == 0
            assert Limit(Rate(count, period)).free(now, 1) == 1
    assert all(later - first >= period for first, later in zip(sent, sent[count:], strict=False))


def test_a_clock_that_was_set_back_holds_nothing_up() -> None:
    limit = Limit(Rate(1, 10))
    limit.remember([1_000_000])
    assert limit.free(5, 1) == 1
