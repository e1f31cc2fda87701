"""Turns what a program writes into what queries write: rules, one per module, applied in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.plan.nodes import Write
from headrace.plan.rewrites import cut, late, shared

Rule = Callable[[str, Write], tuple[Write, ...]]
"""Takes the application's name and a write; returns the writes that it needs, then the write."""

RULES: tuple[Rule, ...] = (
    # Makes a cut above each stream of late events, so it runs before the rule that turns cuts into topics.
    late.rewrite,
    # Names topics after the plan above them, so only earlier rules may have changed it.
    cut.rewrite,
    # Both sides of a join must be in one query, which is known once all cuts are made.
    shared.rewrite,
)


def rewritten(app: str, writes: Iterable[Write]) -> tuple[Write, ...]:
    """Each topic is written once, whoever needs it."""
    found = tuple(writes)
    for rule in RULES:
        found = tuple(part for write in found for part in rule(app, write))
    return tuple({write.label: write for write in found}.values())
