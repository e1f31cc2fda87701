"""`make fuzz`: runs random programs, and prints those that go wrong, made small.

A run goes on with `--seed`: the seed of a group is in each line of progress, and the next group has the next one.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from fuzz import bounded, group, report, run, shrink
from fuzz.run import Check, Difference


def main() -> int:
    options = argparse.ArgumentParser(prog="make fuzz")
    options.add_argument("--programs", type=int, default=400)
    options.add_argument("--seed", type=int, default=None, help="of the first group")
    options.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    options.add_argument("--group", type=int, default=10, help="programs that run together")
    options.add_argument("--shrink", type=float, default=120, help="seconds to make a difference small")
    options.add_argument("--differences", type=int, default=10, help="stop after so many")
    options.add_argument("--verb", help="run only the programs that have it; the others are made and counted all the same")
    options.add_argument("--broker", action="store_true", help="bounded runs on a broker instead of the testing kit")
    args = options.parse_args()
    seed = random.SystemRandom().randrange(1 << 30) if args.seed is None else args.seed
    run.start()
    limits = Limits(args.programs, args.group, args.seconds, args.shrink, args.differences, args.verb)
    say = partial(print, flush=True)
    if not args.broker:
        return 1 if fuzz(seed, limits, say) else 0
    with bounded.broker() as connection:
        check = partial(bounded.check, connection=connection)
        return 1 if fuzz(seed, limits, say, make=bounded.make, check=check) else 0


@dataclass(frozen=True, slots=True)
class Limits:
    programs: int
    group: int
    seconds: float = float("inf")
    shrink: float = 120
    differences: int = 10
    verb: str | None = None


def fuzz(
    seed: int,
    limits: Limits,
    say: Callable[[str], object],
    make: Callable[[int, int], group.Group] = group.make,
    check: Check = run.check,
) -> int:
    """How many programs went wrong."""
    began = time.monotonic()
    done = wrong = 0
    while done < limits.programs and time.monotonic() - began < limits.seconds and wrong < limits.differences:
        made = make(seed, limits.group)
        chosen = [program for program in made.programs if limits.verb in (None, *(node.verb for node in program.nodes()))]
        found: Iterable[Difference] = group.differences(replace(made, programs=tuple(chosen)), check)
        for difference in found:
            say(report.text(shrink.shrink(difference, lambda case: one(check, case), limits.shrink), seed))
            wrong += 1
        done += limits.group
        minutes = (time.monotonic() - began) / 60
        say(f"seed {seed}: {done} programs, {wrong} wrong, {done / minutes:.0f} a minute")
        seed += 1
    return wrong


def one(check: Check, case: run.Case) -> Difference | None:
    return next(iter(check([case.program], case.history, case.cuts)), None)


if __name__ == "__main__":
    sys.exit(main())
