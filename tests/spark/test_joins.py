"""Stream-stream joins against a plain-Python model: every kind, random disorder, duplicates, splits, and a crash."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

import headrace as hr
from headrace.testing import Driver, at

SEEDS, LATENESS, WITHIN = 100, 8_000, 5_000
START = at("10:00:00")
HOWS = ("inner", "left", "right", "full")


class Event(NamedTuple):
    side: str
    key: str
    id: int
    millis: int


def events(seed: int) -> list[Event]:
    """100 histories, each with a few keys of its own; out of order by up to the lateness, some twice."""
    chance = random.Random(seed)
    made: list[tuple[float, Event]] = []
    for history in range(SEEDS):
        for number in range(chance.randint(1, 14)):
            key = f"s{history}-{chance.randint(0, 2)}"
            event = Event(chance.choice(("orders", "payments")), key, number, chance.randint(0, 40_000))
            for _ in range(1 + (chance.random() < 0.1)):
                made.append((event.millis + chance.random() * LATENESS, event))
    return [event for _, event in sorted(made)]


def model(history: list[Event], how: str) -> Counter[tuple[str, int | None, int | None]]:
    orders, payments = ([e for e in history if e.side == side] for side in ("orders", "payments"))
    by_key: dict[str, list[Event]] = {}
    for payment in payments:
        by_key.setdefault(payment.key, []).append(payment)
    pairs: Counter[tuple[str, int | None, int | None]] = Counter()
    met: set[int] = set()
    for order in orders:
        partners = [p for p in by_key.get(order.key, []) if abs(p.millis - order.millis) <= WITHIN]
        met.update(id(p) for p in partners)
        pairs.update((order.key, order.id, p.id) for p in partners)
        if not partners and how in ("left", "full"):
            pairs[order.key, order.id, None] += 1
    if how in ("right", "full"):
        pairs.update((p.key, None, p.id) for p in payments if id(p) not in met)
    return pairs


def test_every_join_kind_agrees_with_the_model_also_after_crashes() -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    # Equal events are equal values; the model tells them apart by identity.
    history = [Event(*event) for event in events(seed)]
    app = hr.App("joins")
    lateness = timedelta(milliseconds=LATENESS)
    orders = app.stream("orders", schema="k string, order int, at timestamp", time="at", lateness=lateness).drop("at")
    payments = app.stream("payments", schema="k string, payment int, at timestamp", time="at", lateness=lateness).drop("at")
    for how in HOWS:
        orders.join(payments, on="k", within=timedelta(milliseconds=WITHIN), how=how).to(how)
    chance = random.Random(seed + 1)
    with Driver(app) as driver:
        cuts = sorted(chance.randint(0, len(history)) for _ in range(4))
        for begin, end in zip([0, *cuts], [*cuts, len(history)], strict=True):
            for side, column in (("orders", "order"), ("payments", "payment")):
                part = [e for e in history[begin:end] if e.side == side]
                driver.feed(side, [{"k": e.key, column: e.id, "at": START + timedelta(milliseconds=e.millis)} for e in part])
            driver.run()
            if chance.random() < 0.6:
                driver.crash()
        driver.advance("10 minutes")
        driver.crash().run()
        for how in HOWS:
            found = Counter((row["k"], row["order"], row["payment"]) for row in driver.rows(how))
            assert found == model(history, how), how
            assert driver.total(how).late == 0


def test_a_joined_row_has_the_later_time_and_a_window_can_follow(drive: Callable[[hr.App], Driver]) -> None:
    app = hr.App("join-window")
    left = app.stream("a", schema="k string, x int, at timestamp", time="at", lateness="1 second").drop("at")
    right = app.stream("b", schema="k string, y int, at timestamp", time="at", lateness="1 second").drop("at")
    joined = left.join(right, on="k", within="1 minute")
    joined.with_columns(t="_time").to("joined")
    joined.key_by("k").window(hr.tumbling("1 minute"), emit="final").agg(n="count(*)").to("counted")
    t = drive(app)
    t.feed("a", "at | k | x\n10:00:10 | A | 1\n10:00:50 | A | 2")
    t.feed("b", "at | k | y\n10:00:40 | A | 5\n10:01:05 | A | 6").advance("1 hour")
    assert {(row["x"], row["y"], row["t"]) for row in t.rows("joined")} == {
        (1, 5, at("10:00:40")),
        (1, 6, at("10:01:05")),
        (2, 5, at("10:00:50")),
        (2, 6, at("10:01:05")),
    }
    assert {row["window_start"]: row["n"] for row in t.rows("counted")} == {at("10:00:00"): 2, at("10:01:00"): 2}


def test_a_stream_can_be_joined_with_itself(drive: Callable[[hr.App], Driver]) -> None:
    app = hr.App("self-join")
    clicks = app.stream("clicks", schema="user string, page string, at timestamp", time="at", lateness="1 second")
    first, second = clicks.select("user", "page as first"), clicks.select("user", "page as second")
    first.join(second, on="user", within="10 seconds").where("first < second").to("pairs")
    t = drive(app).feed("clicks", "at | user | page\n10:00:00 | ann | a\n10:00:05 | ann | b\n10:00:30 | ann | c").run()
    assert [(row["first"], row["second"]) for row in t.rows("pairs")] == [("a", "b")]


def test_a_null_key_meets_nobody(drive: Callable[[hr.App], Driver]) -> None:
    app = hr.App("null-keys")
    left = app.stream("a", schema="k string, x int, at timestamp", time="at", lateness="1 second").drop("at")
    right = app.stream("b", schema="k string, y int, at timestamp", time="at", lateness="1 second").drop("at")
    left.join(right, on="k", within="1 minute", how="full").to("out")
    t = drive(app).feed("a", "at | k | x\n10:00:00 | null | 1").feed("b", "at | k | y\n10:00:00 | null | 2").advance("1 hour")
    assert sorted((str(row["x"]), str(row["y"])) for row in t.rows("out")) == [("1", "None"), ("None", "2")]
