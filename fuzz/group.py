"""Programs that share their sources, a history and its cuts, so that they run together."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fuzz import generate, histories, interpreter, run
from fuzz.histories import Cuts, History
from fuzz.programs import SECOND, Node, Program
from fuzz.run import Case, Difference


@dataclass(frozen=True, slots=True)
class Group:
    seed: int
    programs: tuple[Program, ...]
    history: History
    cuts: tuple[Cuts, ...]
    tame: bool


def make(seed: int, size: int) -> Group:
    chance = random.Random(seed)
    unit = chance.choice([SECOND, SECOND, 3_600 * SECOND])
    tame, open = chance.random() < 0.7, chance.random() < 0.25
    sources = generate.sources(chance, unit)
    again = [generate.again(chance, sources[0], unit), *sources[1:]]
    programs = tuple(
        generate.program(chance, again if chance.random() < 0.15 else sources, unit, f"out{number}") for number in range(size)
    )
    count = chance.choice([30, 60, 90])
    history = histories.history(chance, sources, unit, closings(programs), tame=tame, size=count, open=open)
    cuts = (histories.whole(history), histories.cuts(chance, history, 2, chance.random() < 0.8))
    return Group(seed, tuple(strict(chance, program, history, cuts) for program in programs), history, cuts, tame)


def closings(programs: Sequence[Program]) -> list[int]:
    """The silences that close windows of these programs."""
    found = {node.options.get("close_after") for program in programs for node in program.nodes()}
    return sorted(silence for silence in found if silence)


def strict(chance: random.Random, program: Program, history: History, cuts: Sequence[Cuts]) -> Program:
    """Now and then with `late="fail"`, if nothing is late."""
    ((topic, node), *others) = program.outputs
    if others or node.verb != "window" or chance.random() < 0.6:
        return program
    if any(interpreter.Interpreter(history, one).late(node) != 0 for one in cuts):
        return program
    options = {**node.options, "late": "fail"}
    return Program(((topic, Node(node.verb, node.inputs, node.columns, node.key, node.kind, node.unique, options)),))


def differences(group: Group, check: run.Check = run.check) -> Iterator[Difference]:
    """One of each program at most: the first. What one batch for each part gives is run for one group of four."""
    wrong: set[int] = set()
    for program in group.programs:
        if group.tame and (found := cut_counts(program, group)) is not None:
            wrong.add(id(program))
            yield found
    for cuts in group.cuts if group.seed % 4 == 0 else group.cuts[-1:]:
        for found in check([p for p in group.programs if id(p) not in wrong], group.history, cuts):
            if id(found.case.program) not in wrong:
                wrong.add(id(found.case.program))
                yield found


def cut_counts(program: Program, group: Group) -> Difference | None:
    """Over a tame history the interpreter must say the same for every cut, or its own word is worth nothing."""
    if any(node.verb == "dedupe" and node["within"] is not None for node in program.nodes()):
        # How long an event is remembered beyond `within` depends on when the watermark moves.
        return None
    for topic, node in program.outputs:
        one, other = (interpreter.Interpreter(group.history, cuts).rows(node) for cuts in (group.cuts[0], group.cuts[-1]))
        if what := run.difference(node, one, other):
            return Difference(Case(program, group.history, group.cuts[-1]), topic, what, kind="cuts")
    return None
