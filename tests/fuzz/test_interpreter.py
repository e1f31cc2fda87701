"""The interpreter says what the pictures of docs/windows.md show."""

from __future__ import annotations

import pytest

from fuzz import windowing
from fuzz.clock import Clock
from fuzz.programs import Window
from fuzz.windowing import Event

MINUTE = 60_000_000
OVER = Clock(late=[0, 0], ends=[0, 1_000 * MINUTE])
EVENTS = [Event({}, minute * MINUTE, 0, (minute,)) for minute in (6, 7, 8, 13, 15, 17, 25)]


def counted(window: Window, emit: str | int = "final", clock: Clock = OVER) -> list[tuple[int, int, int]]:
    found = windowing.results(window, emit, {("a",): EVENTS}, clock, gated=True)
    return sorted((result.start // MINUTE, result.end // MINUTE, len(result.events)) for result in found if result.final)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (Window("tumbling", 6 * MINUTE), [(6, 12, 3), (12, 18, 3), (24, 30, 1)]),
        (Window("hopping", 6 * MINUTE, 10 * MINUTE), [(10, 16, 2), (20, 26, 1)]),
        (Window("session", 4 * MINUTE), [(6, 12, 3), (13, 21, 3), (25, 29, 1)]),
        (
            Window("cumulating", 10 * MINUTE, 2 * MINUTE),
            [(0, 8, 2), (0, 10, 3), (10, 14, 1), (10, 16, 2), (10, 18, 3), (10, 20, 3), (20, 26, 1), (20, 28, 1), (20, 30, 1)],
        ),
    ],
    ids=lambda value: value.kind if isinstance(value, Window) else "",
)
def test_windows_are_those_of_the_pictures(window: Window, expected: list[tuple[int, int, int]]) -> None:
    assert counted(window) == expected


def test_sliding_windows_end_where_an_event_enters_or_leaves() -> None:
    expected = [(0, 6, 1), (1, 7, 2), (2, 8, 3), (6, 12, 2), (7, 13, 2), (8, 14, 1), (9, 15, 2), (11, 17, 3), (13, 19, 2)]
    assert counted(Window("sliding", 6 * MINUTE)) == [*expected, (15, 21, 1), (17, 23, 0), (19, 25, 1), (25, 31, 0)]


def test_windows_at_intervals_are_emitted_while_the_key_is_known() -> None:
    events = [Event({}, minute * MINUTE, 0, (minute,)) for minute in (1, 3, 4, 7)]
    clock = Clock(late=[0, 0], ends=[0, 19 * MINUTE])
    found = windowing.results(Window("tumbling", 6 * MINUTE), 2 * MINUTE, {("a",): events}, clock, gated=True)
    rows = [(result.start // MINUTE, len(result.events), result.final) for result in found]
    assert rows[:6] == [(0, 1, False), (0, 2, False), (0, 3, True), (6, 1, False), (6, 1, False), (6, 1, True)]
    assert rows[6:] == [(12, 0, False), (12, 0, False), (12, 0, True)]


def test_a_day_when_the_clocks_change_has_23_hours() -> None:
    (bounds,) = windowing.spans(Window("calendar", unit="day", zone="Europe/Berlin"), 1_711_900_000 * 1_000_000)
    assert (bounds[1] - bounds[0]) // (60 * MINUTE) == 23


def test_a_session_that_is_over_takes_no_more_events() -> None:
    clock = Clock(late=[0, 20 * MINUTE], ends=[20 * MINUTE, 100 * MINUTE])
    events = [Event({}, 10 * MINUTE, 0, (0,)), Event({}, 15 * MINUTE, 1, (1,)), Event({}, 9 * MINUTE, 1, (2,))]
    found = windowing.results(Window("session", 10 * MINUTE), "final", {("a",): events}, clock, gated=True)
    assert [(result.start // MINUTE, result.end // MINUTE) for result in found] == [(10, 20), (15, 25)]
