"""What Spark's real-time mode can't run, refused at the user's line before anything starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.errors import PlanError
from headrace.plan.nodes import Aggregate, Apply, Dedupe, Explode, Filter, Join, KeyBy, Merge, Node, Project, Source, walk
from headrace.plan.queries import QuerySpec

_BATCHES = "leave real-time mode out"


def queries(specs: Sequence[QuerySpec]) -> tuple[QuerySpec, ...]:
    """The queries as they run in real-time mode: all of them in update mode, the only one it has."""
    for node in (node for spec in specs for node in walk(spec.node)):
        if (refused := _refusal(node)) is not None:
            what, fix = refused
            raise PlanError(f"{what} can't run in real-time mode", where=node.where, fix=fix)
    return tuple(replace(spec, mode="update") for spec in specs)


def _refusal(node: Node) -> tuple[str, str] | None:
    """What is refused, and what to do instead."""
    if node.udfs:
        return f"the Python function {node.udfs[0].name}()", f"write it as an SQL expression, or {_BATCHES}"
    match node:
        case Aggregate():
            if node.window is not None and node.window.kind == "session":
                return "a session window", f"take a tumbling or hopping window, or {_BATCHES}"
            if node.emit == "final":
                return 'a window with emit="final"', f'write emit="updates", or {_BATCHES}'
        case Join():
            return "a join of two streams", _BATCHES
        case Dedupe():
            if node.within is not None:
                return "dedupe(within=…)", f"leave within out, which remembers every key for ever, or {_BATCHES}"
        case Merge():
            return _merge(node)
        case Source() | Filter() | Project() | Explode() | Apply() | KeyBy():
            # What the function of apply() does is not known here; Spark says it when the query starts.
            pass
    return None


def _merge(node: Merge) -> tuple[str, str] | None:
    topics = [source.topic for part in node.inputs for source in walk(part) if isinstance(source, Source)]
    if twice := next((topic for topic in topics if topics.count(topic) > 1), None):
        return f"a merge that reads the topic {twice!r} twice", f"write it as one stream with a case expression, or {_BATCHES}"
    if any(isinstance(before, Dedupe | Aggregate) for part in node.inputs for before in walk(part)):
        return "a merge of streams that keep state", f"merge first and dedupe after it, or {_BATCHES}"
    return None
