"""From what a program writes to what queries write: rules, each a file, applied one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.plan.nodes import Write
from headrace.plan.rewrites import cut, late, shared

Rule = Callable[[str, Write], tuple[Write, ...]]
"""Takes the application's name and a write, and returns the write and, before it, those it needs."""

RULES: tuple[Rule, ...] = (
    # A stream of late events becomes a cut, so it comes before what makes topics of the cuts.
    late.rewrite,
    # Topics are named after what is above them: nothing may have been changed there but by the rules before.
    cut.rewrite,
    # Both sides of a join have to be in one query, which is known when all cuts are made.
    shared.rewrite,
)


def rewritten(app: str, writes: Iterable[Write]) -> tuple[Write, ...]:
    """Each topic is written once, whoever needs it."""
    found = tuple(writes)
    for rule in RULES:
        found = tuple(part for write in found for part in rule(app, write))
    return tuple({write.label: write for write in found}.values())
