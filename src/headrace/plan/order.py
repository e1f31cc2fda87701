"""The order in which queries are compiled, and a bounded run goes: who reads what another query writes comes after it."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.plan.queries import QuerySpec


def waves(specs: Sequence[QuerySpec]) -> list[list[QuerySpec]]:
    """Queries of one wave read nothing that a later one writes; a circle comes last, as one wave."""
    found: list[list[QuerySpec]] = []
    left = list(specs)
    while left:
        written = {topic for spec in left for topic in spec.all_topics}
        ready = [spec for spec in left if not any(map(spec.reads, written))] or left
        found.append(ready)
        left = [spec for spec in left if spec not in ready]
    return found
