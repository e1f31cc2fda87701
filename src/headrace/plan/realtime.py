"""What Spark's real-time mode can't run, refused at the user's line before anything starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.errors import PlanError
from headrace.plan import traits
from headrace.plan.nodes import walk
from headrace.plan.queries import QuerySpec
from headrace.plan.traits import BATCHES


def queries(specs: Sequence[QuerySpec]) -> tuple[QuerySpec, ...]:
    """The queries as they run in real-time mode: all of them in update mode, the only one it has."""
    if paced := next((spec for spec in specs if spec.paced), None):
        raise PlanError(
            "idle_after= and close_after= are not supported in real-time mode", where=paced.where, fix="leave them out"
        )
    if beside := next((spec for spec in specs if spec.sinks), None):
        raise PlanError(
            f"{beside.sinks[0].label} is not supported in real-time mode",
            where=beside.where,
            fix=f"write a topic, which another application writes there, or {BATCHES}",
        )
    if followed := next((read for spec in specs for read in spec.sources if read.source.in_batches), None):
        raise PlanError(
            f"{followed.source.title} can't be read in real-time mode",
            where=followed.where,
            fix=f"read a topic, which another application writes, or {BATCHES}",
        )
    for node in (node for spec in specs for node in walk(spec.node)):
        if (refused := traits.not_in_realtime(node)) is not None:
            what, fix = refused
            raise PlanError(f"{what} is not supported in real-time mode", where=node.where, fix=fix)
    return tuple(replace(spec, mode="update") for spec in specs)
