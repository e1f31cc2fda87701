"""What became of each record, for random programs, against a count in plain Python that follows each through the program.

The kit itself checks, when it is closed, that every record was taken, filtered, late or bad; here each of the four is checked.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import headrace as hr
from headrace.testing import Driver
from tests.spark.histories import new_seed

START = datetime(2024, 3, 30, 12, tzinfo=UTC)
SCHEMA = "id int, k string, n int, tags array<int>, at timestamp"
LATENESS = 4_000
Row = dict[str, Any]
Span = tuple[int, int]
Rows = Callable[[Row], list[Row]]


@hr.udf("int")
def picky(n: int | None) -> int | None:
    if n is not None and n % 7 == 3:
        raise ValueError("not this one")
    return n


@dataclass
class Program:
    """A stream and what it does to a row, in Python; a row that is None was refused."""

    stream: hr.Stream
    rows: Callable[[Row], list[Row | None]]
    said: list[str] = field(default_factory=list[str])

    def then(self, said: str, stream: hr.Stream, each: Callable[[Row], list[Row | None]]) -> Program:
        def rows(row: Row) -> list[Row | None]:
            return [made for known in self.rows(row) for made in ([None] if known is None else each(known))]

        return Program(stream, rows, [*self.said, said])


def where(program: Program, chance: random.Random) -> Program:
    a = chance.randint(2, 4)
    b = chance.randrange(a)
    return program.then(
        f"where n % {a} = {b}",
        program.stream.where(f"n % {a} = {b}"),
        lambda row: [row] if row["n"] is not None and row["n"] % a == b else [],
    )


def add(program: Program, chance: random.Random) -> Program:
    return program.then(
        "n + 1",
        program.stream.with_columns(n="n + 1"),
        lambda row: [{**row, "n": None if row["n"] is None else row["n"] + 1}],
    )


def branches(program: Program, chance: random.Random) -> Program:
    """Two or three streams of the same records, which may overlap."""
    parts = [where(program, chance) for _ in range(chance.randint(2, 3))]
    merged = parts[0].stream.merge(*(part.stream for part in parts[1:]))
    said = " | ".join(part.said[-1] for part in parts)
    return Program(merged, lambda row: [made for part in parts for made in part.rows(row)], [*program.said, f"({said})"])


def explode(program: Program, chance: random.Random) -> Program:
    return program.then(
        "explode", program.stream.explode("tags", name="tag"), lambda row: [{**row, "tag": tag} for tag in row["tags"] or ()]
    )


def refuse(program: Program, chance: random.Random) -> Program:
    def each(row: Row) -> list[Row | None]:
        return [None if row["n"] is not None and row["n"] % 7 == 3 else row]

    return program.then("picky", program.stream.with_columns(m="picky(n)").drop("m"), each)


VERBS: list[Callable[[Program, random.Random], Program]] = [where, add, branches, refuse]


def fixed(size: int, every: int) -> Callable[[int], list[Span]]:
    return lambda at: [(b, b + size) for b in range(at - at % every, at - size, -every) if b <= at < b + size]


def cumulating(size: int, every: int) -> Callable[[int], list[Span]]:
    return lambda at: [(at - at % size, end) for end in range(at - at % every + every, at - at % size + size + 1, every)]


WINDOWS: dict[str, tuple[Any, Callable[[int], list[Span]]]] = {
    "tumbling": (hr.tumbling("3 seconds"), fixed(3000, 3000)),
    "hopping": (hr.hopping("6 seconds", every="2 seconds"), fixed(6000, 2000)),
    "gaps": (hr.hopping("1 second", every="3 seconds"), fixed(1000, 3000)),
    "session": (hr.session(gap="2 seconds"), lambda at: [(at, at + 2000)]),
    "sliding": (hr.sliding("3 seconds"), lambda at: [(at - 3000, at)]),
    "cumulating": (hr.cumulating("6 seconds", every="2 seconds"), cumulating(6000, 2000)),
}


def windowed(app: hr.App, program: Program, name: str, chance: random.Random) -> Callable[[Row, int], str]:
    kind = chance.choice(list(WINDOWS))
    window, spans = WINDOWS[kind]
    emits = {"cumulating": ["final"], "session": ["final", "all"], "sliding": ["final", "all"]}
    emit = chance.choice(emits.get(kind, ["final", "updates", "all"]))
    divert = chance.random() < 0.3
    of = program.stream.key_by("k").window(window, emit=emit, late="divert" if divert else "drop")  # pyright: ignore
    of.count().to(name)
    if divert:
        of.late.to(f"{name}-late")
    program.said.append(f"{kind} {emit}{' divert' if divert else ''}")

    def fate(row: Row, closed: int) -> str:
        ends = [end for _, end in spans(row["at"])]
        return "taken" if any(end > closed for end in ends) else "late" if ends else "filtered"

    return fate


def dedupe(app: hr.App, program: Program, name: str, chance: random.Random) -> Callable[[Row, int], str]:
    within = chance.random() < 0.5
    program.stream.dedupe("id", within="10 seconds" if within else None).to(name)
    program.said.append(f"dedupe{' within' if within else ''}")
    return lambda row, closed: "late" if within and row["at"] <= closed else "taken"


def table(app: hr.App, program: Program, name: str, chance: random.Random) -> Callable[[Row, int], str]:
    program.stream.as_table(key="k", version="n").where("n > 3").to(name)
    program.said.append("as_table")
    return lambda row, closed: "bad" if row["k"] is None or row["n"] is None else "taken"


def looked_up(app: hr.App, program: Program, name: str, chance: random.Random) -> Callable[[Row, int], str]:
    """With a table of the same events: one scan, two roles."""
    newest = program.stream.where("n % 2 = 0").select("k", "n as other").as_table(key="k", version="other")
    program.stream.where("n % 3 = 0").join(newest, on="k", how="left").to(name)
    program.said.append("lookup")

    def fate(row: Row, closed: int) -> str:
        if row["n"] is None or (row["n"] % 2 and row["n"] % 3):
            return "filtered"
        return "bad" if row["n"] % 2 == 0 and row["k"] is None else "taken"

    return fate


def joined(app: hr.App, program: Program, name: str, chance: random.Random) -> Callable[[Row, int], str]:
    other = program.stream.where("n % 2 = 0").select("k", "id as other")
    program.stream.where("n % 3 = 0").join(other, on="k", within="2 seconds").to(name)
    program.said.append("join")

    def fate(row: Row, closed: int) -> str:
        if row["n"] is None or (row["n"] % 2 and row["n"] % 3):
            return "filtered"
        return "late" if row["at"] <= closed else "taken"

    return fate


def written(app: hr.App, program: Program, name: str, chance: random.Random) -> Callable[[Row, int], str]:
    program.stream.to(name)
    program.said.append("to")
    return lambda row, closed: "taken"


def totalled(app: hr.App, program: Program, name: str, chance: random.Random) -> Callable[[Row, int], str]:
    program.stream.key_by("k").agg(n="count(*)").to(name)
    program.said.append("agg")
    return lambda row, closed: "taken"


ENDS = [written, totalled, dedupe, table, looked_up, joined, windowed, windowed]


def records(chance: random.Random, count: int) -> list[Row | bytes]:
    """Out of order, some much too late, some twice, some with nulls, some that are nothing."""
    made: list[tuple[float, Row | bytes]] = []
    for id in range(count):
        at = chance.randint(0, 40_000)
        delay = chance.random() * LATENESS * (1 if chance.random() < 0.8 else 8)
        row: Row = {
            "id": id,
            "k": chance.choice(["a", "b", "c", None]),
            "n": chance.choice([None, *range(12)]),
            "tags": chance.choice([None, [], [1], [1, None], [1, 2, 3]]),
            "at": at,
        }
        made.append((at + delay, row if chance.random() < 0.9 else chance.choice([b"nonsense", b'{"id": "x"}', b'{"id": 1}'])))
        if chance.random() < 0.1:
            made.append((at + delay + 1500, row))
    return [record for _, record in sorted(made, key=lambda each: each[0])]


def expected(program: Program, fate: Callable[[Row, int], str], parts: list[list[Row | bytes]]) -> Counter[str]:
    """Of the fates of a record's rows the worst, in this order, is the record's."""
    counts: Counter[str] = Counter()
    closed, newest = -(10**15), -(10**15)
    for part in parts:
        for record in part:
            counts["in"] += 1
            if isinstance(record, bytes):
                counts["bad"] += 1
                continue
            newest = max(newest, record["at"])
            rows = program.rows(record)
            fates = {"bad" if row is None else fate(row, closed) for row in rows} | {"filtered"}
            counts[next(each for each in ("bad", "taken", "late", "filtered") if each in fates)] += 1
        closed = newest - LATENESS
    return counts


def test_each_record_counts_once_however_many_branches_read_it(drive: Callable[[hr.App], Driver]) -> None:
    app = hr.App("branches")
    numbers = app.stream("numbers", schema="n int")
    one, two, three, four = numbers.split("n % 4 = 0", "n % 4 = 1", "n % 4 = 2")
    one.merge(two, three, four).to("all")
    one.merge(two.where("n > 4"), numbers.where("n = 2")).to("some")
    t = drive(app)
    t.feed("numbers", [{"n": n} for n in range(12)]).run()
    total = t.total("all")
    assert (total.rows_in, total.taken, total.filtered, total.rows_out) == (12, 12, 0, 12)
    total = t.total("some")
    assert (total.rows_in, total.taken, total.filtered, total.rows_out) == (12, 6, 6, 6)


def test_what_operators_leave_out_is_counted_besides(drive: Callable[[hr.App], Driver]) -> None:
    app = hr.App("besides")
    events = app.stream("events", schema="id int, v int, at timestamp", time="at", lateness="2 seconds")
    events.dedupe("id").to("once")
    events.as_table(key="id", version="v").to("newest")
    events.window(hr.hopping("4 seconds", every="2 seconds"), emit="final").count().to("hops")
    t = drive(app)
    t.feed("events", "id | v | at\n1 | 5 | 10:00:00\n1 | 4 | 10:00:07").run()
    t.feed("events", "id | v | at\n1 | 6 | 10:00:03\n2 | 1 | 09:00:00").run()
    once, newest, hops = t.total("once"), t.total("newest"), t.total("hops")
    assert (once.rows_in, once.taken, once.duplicates, once.rows_out) == (4, 4, 2, 2)
    assert (newest.rows_in, newest.taken, newest.stale) == (4, 4, 1)
    # At 10:00:05 the first of the two windows of 10:00:03 is closed, the other is not; both of 9:00:00 are.
    assert (hops.rows_in, hops.taken, hops.late, hops.late_rows) == (4, 3, 1, 3)


def test_the_kit_refuses_an_account_that_does_not_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verb that loses rows without a note of it."""
    from headrace.spark import account

    monkeypatch.setattr(account, "filtered", lambda frame, condition: frame.where(condition))  # pyright: ignore
    app = hr.App("leak")
    app.stream("numbers", schema="n int").where("n > 1").to("out")
    driver = Driver(app).feed("numbers", [{"n": n} for n in range(3)]).run()
    with pytest.raises(AssertionError, match="query 'out': the account of batch 0 does not close: 3 in, but 1 taken") as caught:
        driver.close()
    assert "0 filtered" in str(caught.value)


@pytest.mark.parametrize("bad", ["dead", pytest.param("skip", marks=pytest.mark.soak)])
def test_every_record_is_taken_filtered_late_or_bad(bad: Any) -> None:
    seed = new_seed()
    chance = random.Random(seed)
    app = hr.App("account")
    stream = app.stream("events", schema=SCHEMA, time="at", lateness=timedelta(milliseconds=LATENESS), bad=bad)
    programs: dict[str, tuple[Program, Callable[[Row, int], str]]] = {}
    for number, end in enumerate(ENDS):
        program = Program(stream, lambda row: [row])
        for verb in chance.choices(VERBS if bad == "dead" else VERBS[:-1], k=chance.randint(0, 2)):
            program = verb(program, chance)
        if chance.random() < 0.3 and end not in (table, looked_up):
            program = explode(program, chance)
        programs[f"q{number}"] = program, end(app, program, f"q{number}", chance)
    everything = records(chance, 200)
    cuts = sorted(chance.sample(range(1, len(everything)), 2))
    parts = [everything[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(everything)], strict=True)]
    with Driver(app) as driver:
        for part in parts:
            raw = [row if isinstance(row, bytes) else {**row, "at": START + timedelta(milliseconds=row["at"])} for row in part]
            driver.feed("events", raw).run()
        for name, (program, fate) in programs.items():
            total = driver.total(name)
            found = {what: getattr(total, what) for what in ("taken", "filtered", "late", "bad")} | {"in": total.rows_in}
            wanted = expected(program, fate, parts)
            assert found == {what: wanted[what] for what in found}, f"seed {seed}, {name}: {', '.join(program.said)}"
            if program.said[-1] == "to":
                assert total.rows_out == len(driver.rows(name)), f"seed {seed}, {name}"
