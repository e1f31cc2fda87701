"""Every kind of window, with every emission and late policy, against models in plain Python: disorder, duplicates, late events,
any split into batches, and a crash in the middle. A history is a key, so that a run has a hundred of them."""

from __future__ import annotations

import random
from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest

import headrace as hr
from headrace.errors import RunError
from headrace.testing import Driver

HISTORIES = 100
LATENESS = 4_000
START = datetime(2024, 3, 30, 12, tzinfo=UTC)
ZERO = int(START.timestamp() * 1000)
SCHEMA = "k string, v int, at timestamp"
HOUR = 3_600_000
Span = tuple[int, int]


class Event(NamedTuple):
    key: str
    value: int
    at: int


class Batch(NamedTuple):
    """What Spark sees: the events, the watermark by which they are late, and the one up to which windows close."""

    events: list[Event]
    late: int
    close: int


class Told(NamedTuple):
    """A row of a result: n, sum and max of the events between start and end."""

    start: int
    end: int
    values: tuple[int, ...]
    final: bool


Model = Callable[[list[Batch]], tuple[list[Told], list[tuple[Event, Span]]]]
"""What is told of a key, in any order, and what was late for which window."""


def history(chance: random.Random, length: int) -> list[Event]:
    """Out of order, mostly by less than the lateness; some events come twice, some much too late, and some keys go quiet."""
    made: list[tuple[float, Event]] = []
    for key in range(HISTORIES):
        until = chance.choice((length, length // 3))
        for _ in range(chance.randint(1, 14)):
            event = Event(f"s{key}", chance.randint(-50, 50), chance.randint(0, until))
            delay = chance.random() * LATENESS if chance.random() < 0.85 else chance.random() * length
            for _ in range(1 + (chance.random() < 0.15)):
                made.append((event.at + delay, event))
    return [event for _, event in sorted(made)]


def batches(parts: Sequence[Sequence[Event]], lateness: int, end: int) -> list[Batch]:
    """As the driver runs them: each part alone, then what the watermark has closed; in the end time goes on to `end`."""
    found: list[Batch] = []
    late = close = -(10**15)
    for part in [*parts, None]:
        found.append(Batch(list(part or ()), late, close))
        late = close
        close = max(
            close, (max((event.at for event in part), default=close + lateness) if part is not None else end) - lateness
        )
        if close > late:
            found.append(Batch([], late, close))
            late = close
    return found


def model(spans: Callable[[int], Iterator[Span]], emit: str, tick: int = 0) -> Model:
    """Windows with fixed bounds; `spans` are those that a time is in."""

    def told(run: list[Batch]) -> tuple[list[Told], list[tuple[Event, Span]]]:
        out: list[Told] = []
        late: list[tuple[Event, Span]] = []
        open: dict[Span, list[int]] = {}
        for batch in run:
            touched: set[Span] = set()
            for event in batch.events:
                for span in spans(event.at):
                    if span[1] <= batch.late:
                        late.append((event, span))
                    else:
                        open.setdefault(span, []).append(event.value)
                        touched.add(span)
            if emit in ("updates", "all"):
                out += [Told(*span, tuple(sorted(open[span])), False) for span in touched]
            for span in [span for span in open if span[1] <= batch.close]:
                values = open.pop(span)
                if emit != "updates":
                    out.append(Told(*span, tuple(sorted(values)), True))
        return out, late

    return told


def ticking(spans: Callable[[int], Iterator[Span]], tick: int) -> Model:
    """The same as of each tick, with windows that have no events, until one of these ends and nothing else is there."""

    def told(run: list[Batch]) -> tuple[list[Told], list[tuple[Event, Span]]]:
        out: list[Told] = []
        late: list[tuple[Event, Span]] = []
        waiting: list[tuple[Event, list[Span]]] = []
        open: dict[Span, list[int]] = {}
        now: int | None = None
        for batch in run:
            for event in batch.events:
                late += [(event, span) for span in spans(event.at) if span[1] <= batch.late]
                if mine := [span for span in spans(event.at) if span[1] > batch.late]:
                    waiting.append((event, mine))
            while True:
                if now is None and not waiting:
                    break
                since = min(event.at for event, _ in waiting) if now is None else now
                moment = next(t for t in range(since + 1, 10**9) if on(t, tick) or any(e == t for _, e in spans(t - 1)))
                if moment > batch.close:
                    break
                for event, mine in [each for each in waiting if each[0].at < moment]:
                    waiting.remove((event, mine))
                    for span in mine:
                        open.setdefault(span, []).append(event.value)
                for span in spans(moment - 1):
                    if on(moment, tick) or span[1] == moment:
                        open.setdefault(span, [])
                ended = [span for span in open if span[1] <= moment]
                out += [Told(*span, tuple(sorted(open[span])), True) for span in ended]
                empty = any(not open.pop(span) for span in ended)
                out += [Told(*span, tuple(sorted(values)), False) for span, values in open.items() if on(moment, tick)]
                now = moment if now is None else max(now, moment)
                if empty and not any(open.values()):
                    open, now = {}, None
        return out, late

    return told


def on(time: int, tick: int) -> bool:
    return (time + ZERO) % tick == 0


def fixed(size: int, every: int, offset: int = 0) -> Callable[[int], Iterator[Span]]:
    def spans(at: int) -> Iterator[Span]:
        first = at - (at + ZERO - offset) % every
        return ((start, start + size) for start in range(first, at - size, -every))

    return spans


def calendar(unit: str, zone: str, offset: int = 0, step: int = 0) -> Callable[[int], Iterator[Span]]:
    """By the clock on the wall; with a step, from the period's begin to each step of it."""

    def wall(day: date) -> int:
        return since(datetime.combine(day, time(offset), ZoneInfo(zone)))

    def spans(at: int) -> Iterator[Span]:
        local = (START + timedelta(milliseconds=at)).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        day = (local - timedelta(hours=offset)).date()
        first = {"day": day, "week": day - timedelta(days=day.weekday()), "month": day.replace(day=1)}[unit]
        days = {"day": 1, "week": 7, "month": monthrange(first.year, first.month)[1]}[unit]
        start, end = wall(first), wall(first + timedelta(days=days))
        ends = {*range(start + step, end, step), end} if step else {end}
        return ((start, each) for each in sorted(ends) if at < each)

    return spans


def steps(size: int, every: int) -> Callable[[int], Iterator[Span]]:
    def spans(at: int) -> Iterator[Span]:
        start = at - (at + ZERO) % size
        return ((start, end) for end in range(start + every, start + size + 1, every) if at < end)

    return spans


def sessions(gap: int, emit: str) -> Model:
    def told(run: list[Batch]) -> tuple[list[Told], list[tuple[Event, Span]]]:
        out: list[Told] = []
        late: list[tuple[Event, Span]] = []
        open: list[tuple[int, int, list[int]]] = []
        for batch in run:
            before = [(start, end, sorted(values)) for start, end, values in open]
            for event in sorted(batch.events, key=lambda event: event.at):
                if event.at + gap <= batch.late:
                    late.append((event, (event.at, event.at + gap)))
                    continue
                near = [each for each in open if each[0] <= event.at + gap and event.at <= each[1]]
                values = [event.value, *(value for each in near for value in each[2])]
                bounds = [event.at, event.at + gap, *(bound for each in near for bound in each[:2])]
                open = [each for each in open if each not in near] + [(min(bounds), max(bounds), values)]
            if emit in ("updates", "all"):
                changed = [each for each in open if (each[0], each[1], sorted(each[2])) not in before]
                out += [Told(start, end, tuple(sorted(values)), False) for start, end, values in changed]
            if emit in ("final", "all"):
                out += [Told(start, end, tuple(sorted(values)), True) for start, end, values in open if end <= batch.close]
            open = [each for each in open if each[1] > batch.close]
        return out, late

    return told


def sliding(size: int, emit: str) -> Model:
    """At each time at which an event comes or leaves: the events of the time before it. Early only up to the newest event."""

    def told(run: list[Batch]) -> tuple[list[Told], list[tuple[Event, Span]]]:
        out: list[Told] = []
        late: list[tuple[Event, Span]] = []
        events: list[Event] = []
        final = said = -(10**15)
        for batch in run:
            late += [(event, (event.at - size, event.at)) for event in batch.events if event.at <= batch.late]
            new = [event for event in batch.events if event.at > batch.late]
            events += new
            newest = max((event.at for event in events), default=said)
            for point in sorted({point for event in events for point in (event.at, event.at + size)}):
                inside = any(point - size < event.at <= point for event in new)
                here = [event for event in events if event.at in (point, point - size)]
                changed = point > said or inside or all(event in new and event.at < point for event in here)
                if final < point <= batch.close and (emit != "updates" or changed):
                    out.append(window(events, point, size, True))
                elif batch.close < point <= newest and emit != "final" and new and changed:
                    out.append(window(events, point, size, False))
            final = max(final, batch.close)
            # What no window can hold any more is forgotten.
            events = [event for event in events if event.at + size > final]
            said = max((event.at for event in events), default=-(10**15))
        return out, late

    return told


def window(events: list[Event], point: int, size: int, final: bool) -> Told:
    return Told(point - size, point, tuple(sorted(event.value for event in events if point - size < event.at <= point)), final)


EVERY = hr.every("3 seconds")
KINDS: dict[str, tuple[Callable[[], Any], Callable[[int], Iterator[Span]]]] = {
    "tumbling": (lambda: hr.tumbling("5 seconds", offset="2 seconds"), fixed(5000, 5000, 2000)),
    "overlapping": (lambda: hr.hopping("7 seconds", every="3 seconds"), fixed(7000, 3000)),
    "gaps": (lambda: hr.hopping("6 seconds", every="10 seconds"), fixed(6000, 10_000)),
}
CASES: dict[str, tuple[Any, Any, str, Model]] = {
    f"{kind}-{emit}": (make(), emit, "divert" if emit == "final" else "drop", model(spans, emit))
    for kind, (make, spans) in KINDS.items()
    for emit in ("updates", "final", "all")
}
CASES |= {f"{kind}-every": (make(), EVERY, "divert", ticking(spans, 3000)) for kind, (make, spans) in KINDS.items()}
CASES |= {
    "cumulating": (hr.cumulating("12 seconds", every="4 seconds"), "final", "divert", model(steps(12_000, 4000), "final")),
}
CASES |= {
    f"session-{emit}": (hr.session(gap="3 seconds"), emit, "divert" if emit == "all" else "drop", sessions(3000, emit))
    for emit in ("updates", "final", "all")
}
CASES |= {
    f"sliding-{emit}": (hr.sliding("5 seconds"), emit, "divert" if emit == "final" else "drop", sliding(5000, emit))
    for emit in ("updates", "final", "all")
}


@pytest.mark.parametrize("kind", ["tumbling", "overlapping", "gaps", "cumulating", "session", "sliding"])
def test_windows_are_what_the_model_says(kind: str) -> None:
    cases = {name: case for name, case in CASES.items() if name.startswith(kind)}
    check(cases, length=40_000, lateness=LATENESS, end=200_000)


def test_days_in_two_time_zones_have_23_and_25_hours() -> None:
    """Berlin's clocks go forward on 2024-03-31, when also a week and a month end; those of New York back on 2024-11-03."""
    cases: dict[str, tuple[Any, Any, str, Model]] = {}
    for emit in ("updates", "final", "all"):
        for unit, zone, offset in (("day", "Europe/Berlin", 0), ("week", "Asia/Kolkata", 0), ("month", "America/New_York", 6)):
            window = hr.calendar(unit, zone=zone, offset=timedelta(hours=offset))  # pyright: ignore[reportArgumentType]
            cases[f"{unit}-{emit}"] = (window, emit, "drop", model(calendar(unit, zone, offset), emit))
    steps = hr.cumulating("day", every="7 hours", zone="Europe/Berlin")
    cases["steps"] = (steps, "final", "divert", model(calendar("day", "Europe/Berlin", step=7 * HOUR), "final"))
    assert 23 * HOUR in check(cases, length=80 * HOUR, lateness=6 * HOUR, end=1000 * HOUR)
    day = hr.calendar("day", zone="America/New_York")
    back = {"back": (day, "final", "drop", model(calendar("day", "America/New_York"), "final"))}
    assert 25 * HOUR in check(back, length=80 * HOUR, lateness=6 * HOUR, end=300 * HOUR, begin=216 * 24 * HOUR)


def check(cases: dict[str, tuple[Any, Any, str, Model]], *, length: int, lateness: int, end: int, begin: int = 0) -> set[int]:
    """Runs the cases over the same history, in which something is late; returns how long windows were."""
    parts: list[list[Event]] = []
    crash, run = 0, batches(parts, lateness, begin + end)
    while not any(expects(of_key(run, key))[1] for *_, expects in cases.values() for key in keys(parts)):
        seed = random.SystemRandom().randrange(2**32)
        print(f"seed {seed}")
        chance = random.Random(seed)
        parts = split([event._replace(at=event.at + begin) for event in history(chance, length)], chance, 4)
        crash = chance.randrange(len(parts))
        run = batches(parts, lateness, begin + end)
    app = hr.App("windows")
    keyed = app.stream("events", schema=SCHEMA, time="at", lateness=timedelta(milliseconds=lateness)).key_by("k")
    for name, (of, emit, late, _) in cases.items():
        windowed = keyed.window(of, emit=emit, late=late)  # pyright: ignore[reportArgumentType]
        windowed.agg(n="count(*)", total="sum(v)", top="max(v)").to(name)
        if late == "divert":
            windowed.late.to(f"{name}-late")
    with Driver(app) as driver:
        for number, part in enumerate(parts):
            driver.feed("events", [{"k": e.key, "v": e.value, "at": START + timedelta(milliseconds=e.at)} for e in part]).run()
            if number == crash:
                driver.crash()
        driver.advance(to=START + timedelta(milliseconds=begin + end))
        lengths: set[int] = set()
        for name, (_, _, policy, expects) in cases.items():
            told: Counter[Any] = Counter()
            missed: Counter[Any] = Counter()
            for key in keys(parts):
                rows, late = expects(of_key(run, key))
                told.update((key, r.start, r.end, len(r.values), sum(r.values) if r.values else None,
                             max(r.values, default=None), r.final) for r in rows)  # fmt: skip
                missed.update((key, event.value, event.at, *span) for event, span in late)
            found = Counter(
                (r["k"], since(r["window_start"]), since(r["window_end"]), r["n"], r["total"], r["top"], r["final"])
                for r in driver.rows(name)
            )
            assert found == told, difference(name, found, told)
            assert driver.total(name).late_rows == missed.total(), name
            assert driver.total(name).rows_in == sum(map(len, parts)), name
            if policy == "divert":
                rows = driver.rows(f"{name}-late")
                diverted = Counter(
                    (r["k"], r["v"], since(r["at"]), since(r["window_start"]), since(r["window_end"])) for r in rows
                )
                assert diverted == missed, difference(f"{name}, late", diverted, missed)
            lengths |= {end - start for _, start, end, *_ in found}
    return lengths


def keys(parts: list[list[Event]]) -> set[str]:
    return {event.key for part in parts for event in part}


def of_key(run: list[Batch], key: str) -> list[Batch]:
    return [batch._replace(events=[event for event in batch.events if event.key == key]) for batch in run]


def difference(name: str, found: Counter[Any], told: Counter[Any]) -> str:
    return f"{name}: too much {sorted((found - told).items())[:6]}; missing {sorted((told - found).items())[:6]}"


def split(events: list[Event], chance: random.Random, parts: int) -> list[list[Event]]:
    cuts = sorted(chance.randint(1, len(events) - 1) for _ in range(parts - 1))
    return [part for a, b in zip([0, *cuts], [*cuts, len(events)], strict=True) if (part := events[a:b])]


def since(when: datetime) -> int:
    return (when - START) // timedelta(milliseconds=1)


def test_a_late_event_stops_the_query_if_it_is_reported_to(drive: Any) -> None:
    for of in (hr.tumbling("5 seconds"), hr.session(gap="5 seconds"), hr.sliding("5 seconds")):
        app = hr.App("strict")
        stream = app.stream("events", schema=SCHEMA, time="at", lateness="10 seconds").key_by("k")
        stream.window(of, emit="all", late="fail").count().to("out")
        driver = drive(app).feed("events", "k | v | at\nA | 1 | 10:00:01\nA | 1 | 10:01:00").run()
        with pytest.raises(
            RunError, match=r"an event came \d+ seconds too late for its window, which ended 2024-01-01 10:00:0"
        ):
            driver.feed("events", "k | v | at\nA | 1 | 10:00:02").run()


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


def test_a_quiet_stream_closes_its_windows_and_what_reopens_them_is_late(drive: Any) -> None:
    app = hr.App("quiet")
    stream = app.stream("events", schema=SCHEMA, time="at", lateness="10 seconds", close_after="30 seconds").key_by("k")
    stream.window(hr.tumbling("1 hour"), emit="final").count().to("hours")
    stream.window(hr.session(gap="1 minute"), emit="final").count().to("sessions")
    stream.window(hr.sliding("1 minute"), emit="final").count().to("sliding")
    driver = drive(app).feed("events", "k | v | at\nA | 1 | 10:00:01\nA | 1 | 10:00:02").run()
    driver.advance("20 seconds")
    assert driver.rows("hours") == []
    driver.advance("10 seconds")
    assert [row["count"] for row in driver.rows("hours")] == [2]
    assert [row["count"] for row in driver.rows("sessions")] == [2]
    assert [row["count"] for row in driver.rows("sliding")] == [1, 2, 1, 0]
    driver.feed("events", "k | v | at\nA | 1 | 10:00:02").run()
    assert [driver.total(name).late for name in ("hours", "sessions", "sliding")] == [1, 1, 1]
    # A session that would last longer than the one that was closed is a new one.
    driver.feed("events", "k | v | at\nA | 1 | 10:00:40").run().advance("2 minutes")
    assert [driver.total(name).late for name in ("hours", "sessions")] == [2, 1]
    assert [row["count"] for row in driver.rows("sessions")] == [2, 1]


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


def test_when_time_moves_on_a_window_behind_a_final_one_gets_its_last_rows(drive: Any) -> None:
    app = hr.App("behind")
    events = app.stream("events", schema=SCHEMA, time="at", lateness="5 seconds").key_by("k")
    small = events.window(hr.tumbling("500 ms"), emit="final").agg(n="sum(v)")
    small.key_by("k").window(hr.hopping("4 seconds", every="2 seconds"), emit="updates").agg(n="sum(n)").to("sums")
    driver = drive(app)
    driver.feed("events", [{"k": "a", "v": 7, "at": "12:00:18.115204"}]).advance("200 days")
    found = {(row["window_start"].second, row["n"]) for row in driver.table("sums").values()}
    assert found == {(16, 7), (18, 7)}
