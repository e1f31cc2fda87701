"""Every window kind against a plain-Python model: random disorder inside of the lateness, duplicates, splits, and a crash."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest

import headrace as hr
from headrace.testing import Driver

SEEDS = 50
LATENESS = 8_000
START = datetime(2024, 1, 1, 10, tzinfo=UTC)
EPOCH_MILLIS = int(START.timestamp() * 1000)
SCHEMA = "k string, v int, at timestamp"


class Event(NamedTuple):
    key: str
    value: int
    millis: int


def events(seed: int) -> list[Event]:
    """For 50 histories at once, the history is the key: out of order by up to the lateness, some twice."""
    chance = random.Random(seed)
    made: list[tuple[float, Event]] = []
    for history in range(SEEDS):
        for _ in range(chance.randint(1, 24)):
            event = Event(f"s{history}", chance.randint(-50, 50), chance.randint(0, 60_000))
            for _ in range(1 + (chance.random() < 0.15)):
                made.append((event.millis + chance.random() * LATENESS, event))
    return [event for _, event in sorted(made)]


def fixed(size: int, every: int, offset: int = 0) -> Any:
    """The starts of the windows [start, start + size) that hold a time, by trying all of them; windows are aligned to 1970."""

    def starts(millis: int) -> Iterator[int]:
        return (s for s in range(millis - size + 1, millis + 1) if (s + EPOCH_MILLIS - offset) % every == 0)

    def model(history: list[Event]) -> dict[tuple[int, int], list[int]]:
        windows: dict[tuple[int, int], list[int]] = defaultdict(list)
        for event in history:
            for start in starts(event.millis):
                windows[start, start + size].append(event.value)
        return windows

    return model


def sessions(gap: int) -> Any:
    def model(history: list[Event]) -> dict[tuple[int, int], list[int]]:
        windows: list[tuple[int, int, list[int]]] = []
        for event in sorted(history, key=lambda e: e.millis):
            if windows and event.millis <= windows[-1][1]:
                start, end, values = windows.pop()
                windows.append((start, max(end, event.millis + gap), [*values, event.value]))
            else:
                windows.append((event.millis, event.millis + gap, [event.value]))
        return {(start, end): values for start, end, values in windows}

    return model


KINDS = {
    "tumbling": (lambda: hr.tumbling("5 seconds"), fixed(5000, 5000)),
    "tumbling with an offset": (lambda: hr.tumbling("7 seconds", offset="2 seconds"), fixed(7000, 7000, 2000)),
    "hopping with overlap": (lambda: hr.hopping("6 seconds", every="2 seconds"), fixed(6000, 2000)),
    "hopping by no divisor": (lambda: hr.hopping("7 seconds", every="3 seconds", offset="1 second"), fixed(7000, 3000, 1000)),
    "hopping with gaps": (lambda: hr.hopping("6 seconds", every="10 seconds"), fixed(6000, 10_000)),
    "session": (lambda: hr.session(gap="4 seconds"), sessions(4000)),
}
CASES = [(kind, emit) for kind in KINDS for emit in ("updates", "final") if (kind, emit) != ("session", "updates")]


@pytest.mark.parametrize("crash", [False, True], ids=["no crash", "crash in the middle"])
def test_every_window_kind_and_emission_agrees_with_the_model(crash: bool) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    history = events(seed)
    app = hr.App("windows")
    stream = app.stream("events", schema=SCHEMA, time="at", lateness=timedelta(milliseconds=LATENESS)).key_by("k")
    for kind, emit in CASES:
        window = KINDS[kind][0]()
        stream.window(window, emit=emit).agg(
            n="count(*)", low="min(v)", high="max(v)", total="sum(v)", mean="avg(v)", all="sort_array(collect_list(v))"
        ).to(topic_of(kind, emit))
    chance = random.Random(seed + 1)
    with Driver(app) as driver:
        for batch in split(history, chance, 5):
            driver.feed("events", [{"k": e.key, "v": e.value, "at": START + timedelta(milliseconds=e.millis)} for e in batch])
            driver.run()
            if crash and chance.random() < 0.6:
                driver.crash()
        driver.advance("5 minutes")
        if crash:
            driver.crash().run()
        for kind, emit in CASES:
            expected = {
                (key, start, end): values
                for key in {e.key for e in history}
                for (start, end), values in KINDS[kind][1]([e for e in history if e.key == key]).items()
            }
            compare(driver, kind, emit, expected)


def compare(driver: Driver, kind: str, emit: str, expected: dict[tuple[str, int, int], list[int]]) -> None:
    rows = driver.rows(topic_of(kind, emit))
    found = {(row["k"], millis(row["window_start"]), millis(row["window_end"])): row for row in rows}
    assert found.keys() == expected.keys(), kind
    assert driver.total(topic_of(kind, emit)).late == 0
    for place, values in expected.items():
        row = found[place]
        assert (row["n"], row["low"], row["high"], row["total"]) == (len(values), min(values), max(values), sum(values)), (
            kind,
            place,
        )
        assert row["all"] == sorted(values)
        assert row["mean"] == pytest.approx(sum(values) / len(values))
        assert row["final"] is (emit == "final")
    if emit == "final":
        assert len(rows) == len(found), f"{kind}: a final result came twice"


def topic_of(kind: str, emit: str) -> str:
    return f"{kind.replace(' ', '-')}-{emit}"


def split(history: list[Event], chance: random.Random, parts: int) -> list[list[Event]]:
    cuts = sorted(chance.randint(0, len(history)) for _ in range(parts - 1))
    return [history[a:b] for a, b in zip([0, *cuts], [*cuts, len(history)], strict=True)]


def millis(when: datetime) -> int:
    return (when - START) // timedelta(milliseconds=1)


def test_an_event_later_than_the_lateness_is_dropped_and_counted(drive: Any) -> None:
    app = hr.App("late")
    stream = app.stream("events", schema=SCHEMA, time="at", lateness="10 seconds")
    stream.key_by("k").window(hr.tumbling("5 seconds"), emit="final").count().to("out")
    driver = drive(app)
    driver.feed("events", "k | v | at\nA | 1 | 10:00:01\nA | 1 | 10:01:00").run()
    driver.feed("events", "k | v | at\nA | 1 | 10:00:02").advance("1 hour")
    assert [row["count"] for row in driver.rows("out")] == [1, 1]
    assert driver.total("out").late == 1


def test_a_window_of_final_windows_counts_what_they_count(drive: Any) -> None:
    app = hr.App("chain")
    stream = app.stream("events", schema=SCHEMA, time="at", lateness="10 seconds").key_by("k")
    small = stream.window(hr.tumbling("5 seconds"), emit="final").agg(n="count(*)")
    small.key_by("k").window(hr.tumbling("1 minute"), emit="final").agg(n="sum(n)", windows="count(*)").to("out")
    driver = drive(app)
    driver.feed("events", "k | v | at\nA | 1 | 10:00:01\nA | 1 | 10:00:02\nA | 1 | 10:00:31\nB | 1 | 10:00:59").advance(
        "1 hour"
    )
    found = {row["k"]: (row["n"], row["windows"]) for row in driver.rows("out")}
    assert found == {"A": (3, 2), "B": (1, 1)}


def test_running_aggregates_need_no_window_and_follow_every_batch(drive: Any) -> None:
    app = hr.App("running")
    app.stream("events", schema=SCHEMA).key_by("k").agg(total="sum(v)", n="count(*)").to("out")
    driver = drive(app)
    driver.feed("events", "k | v\nA | 1\nB | 2\n---\nA | 3").run().crash()
    driver.feed("events", "k | v\nA | 5").run()
    assert [(row["k"], row["total"], row["n"]) for row in driver.rows("out")][-2:] == [("A", 4, 2), ("A", 9, 3)]
    assert driver.table("out")["B"]["total"] == 2


def test_an_aggregate_without_a_key_has_one_group(drive: Any) -> None:
    app = hr.App("global")
    app.stream("events", schema=SCHEMA).agg(total="sum(v)").to("out")
    driver = drive(app).feed("events", "k | v\nA | 1\nB | 2").run()
    assert driver.rows("out") == [{"total": 3}]
