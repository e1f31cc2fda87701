"""What Spark's real-time mode can't run, refused at the user's line before anything starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.errors import PlanError
from headrace.plan.nodes import (
    Aggregate,
    Apply,
    AsTable,
    Changes,
    Cut,
    Dedupe,
    Explode,
    Filter,
    Join,
    KeyBy,
    Lookup,
    Merge,
    Node,
    Project,
    Read,
    TableAggregate,
    TableJoin,
    TooLate,
    inputs,
    walk,
)
from headrace.plan.queries import QuerySpec, emit_text

_BATCHES = "leave real-time mode out"


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
            fix=f"write a topic, which another application writes there, or {_BATCHES}",
        )
    if followed := next((read for spec in specs for read in spec.sources if read.source.in_batches), None):
        raise PlanError(
            f"{followed.source.title} can't be read in real-time mode",
            where=followed.where,
            fix=f"read a topic, which another application writes, or {_BATCHES}",
        )
    for node in (node for spec in specs for node in walk(spec.node)):
        if (refused := _refusal(node)) is not None:
            what, fix = refused
            raise PlanError(f"{what} is not supported in real-time mode", where=node.where, fix=fix)
    return tuple(replace(spec, mode="update") for spec in specs)


def _refusal(node: Node) -> tuple[str, str] | None:
    """What is refused, and what to do instead."""
    if node.udfs:
        return f"the Python function {node.udfs[0].name}()", f"write it as an SQL expression, or {_BATCHES}"
    match node:
        case Aggregate():
            if node.window is not None and node.window.kind in ("session", "sliding", "cumulating"):
                return f"a {node.window.kind} window", f"take a tumbling or hopping window, or {_BATCHES}"
            if node.emit != "updates":
                return f'a window with emit="{emit_text(node.emit)}"', f'write emit="updates", or {_BATCHES}'
            if node.late == "divert":
                return 'a window with late="divert"', f'write late="drop", or {_BATCHES}'
        case Join():
            return "a join of two streams", _BATCHES
        case Dedupe():
            if node.within is not None:
                return "dedupe(within=…)", f"leave within out, which remembers every key for ever, or {_BATCHES}"
        case TableJoin():
            return "a join of two tables", _BATCHES
        case Lookup():
            if node.as_of == "event_time":
                # It waits for the watermark, which stands still until the batch ends.
                return "a join as of the event's time", f'write as_of="arrival", or {_BATCHES}'
            return _union(node, "a join with a table")
        case Merge():
            return _union(node, "a merge")
        case AsTable() | Changes() | TableAggregate() | TooLate() | Cut():
            pass
        case Read() | Filter() | Project() | Explode() | Apply() | KeyBy():
            # What the function of apply() does is not known here; Spark says it when the query starts.
            pass
    return None


def _union(node: Node, what: str) -> tuple[str, str] | None:
    """Inputs become one stream of records; Spark wants each of them from a source of its own, with no state before."""
    before = [part for side in inputs(node) for part in walk(side)]
    read = [part.source.title for part in before if isinstance(part, Read)]
    if twice := next((title for title in read if read.count(title) > 1), None):
        return f"{what} that reads {twice} twice", _BATCHES
    if state := next((part for part in before if isinstance(part, Dedupe | Aggregate | Lookup | TableAggregate)), None):
        line = f"{state.where.file}:{state.where.line}"
        return f"{what} of what keeps state", f"write the result of {line} to a topic and read that, or {_BATCHES}"
    return None
