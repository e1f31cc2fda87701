"""A short run of `make fuzz`: a few programs that are run, and more that are only built and interpreted; always the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from fuzz import group, report, run, shrink
from fuzz.programs import Program, printed

SEED = 20_000


@pytest.fixture
def quick(spark: SparkSession) -> Iterator[None]:
    """The settings of `make fuzz`, for as long as the test runs."""
    before = {name: spark.conf.get(name, None) for name in run.QUICK}
    for name, value in run.QUICK.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value) if value is not None else spark.conf.unset(name)


@pytest.mark.usefixtures("quick")
def test_programs_say_what_the_interpreter_says_however_they_are_cut() -> None:
    assert not differences(101, 3)


@pytest.mark.soak
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("seed", [100, 201, 302])
def test_whole_groups_of_programs_say_what_the_interpreter_says(seed: int) -> None:
    assert not differences(seed, 10)


def differences(seed: int, count: int) -> str:
    made = group.make(seed, 10)
    few = replace(made, programs=made.programs[:count])
    return "\n".join(report.text(found, seed) for found in group.differences(few))


def test_every_program_is_accepted_and_the_interpreter_says_the_same_for_every_cut() -> None:
    for seed in range(SEED, SEED + 20):
        made = group.make(seed, 10)
        for program in made.programs:
            text = printed([program])
            scope: dict[str, object] = {}
            exec(compile(text, f"<seed {seed}>", "exec"), scope)
            scope["app"].queries()  # type: ignore[attr-defined]
            if made.tame:
                assert group.cut_counts(program, made) is None, f"seed {seed}\n{text}"


def test_a_wrong_program_is_made_small() -> None:
    """As if every program with a window were wrong as soon as it has an event of the key d."""
    made = group.make(11, 30)
    program = next(program for program in made.programs if len(program.nodes()) > 4 and _windows(program))
    tries = 0

    def check(case: run.Case) -> run.Difference | None:
        nonlocal tries
        tries += 1
        keys = [record.row["k"] for record in case.history.records if record.row is not None and "k" in record.row]
        return run.Difference(case, "out", "wrong") if _windows(case.program) and "d" in keys else None

    first = check(run.Case(program, made.history, made.cuts[1]))
    assert first is not None
    small = shrink.shrink(first, check, 10)
    assert len(small.case.history.records) == 1
    assert len(small.case.program.nodes()) < len(program.nodes())
    assert not small.case.cuts.crashes
    assert tries < 200


def _windows(program: Program) -> bool:
    return any(node.verb == "window" for node in program.nodes())
