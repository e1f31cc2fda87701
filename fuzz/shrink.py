"""Makes a failing case small: fewer verbs, then fewer records, then fewer batches; each as long as something is still wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from fuzz.histories import Barrier, Cuts, History, Record
from fuzz.programs import Node, Program
from fuzz.run import Case, Difference

Again = Callable[[Case], Difference | None]


def shrink(found: Difference, check: Again, seconds: float) -> Difference:
    """The smallest difference found within the time; at worst the one that was given."""
    end = time.monotonic() + seconds
    for step in (_cuts, _programs, _records, _programs, _aggregates, _cuts):
        smaller = True
        while smaller and time.monotonic() < end:
            smaller = False
            for case in step(found.case):
                if time.monotonic() > end:
                    break
                if (better := check(case)) is not None and better.kind == found.kind:
                    found, smaller = better, True
                    break
    return found


def _cuts(case: Case) -> Iterator[Case]:
    """Without a crash, as one batch each, with one cut less."""
    if case.cuts.crashes:
        yield replace(case, cuts=replace(case.cuts, crashes=frozenset()))
    if any(case.cuts.sizes):
        yield replace(case, cuts=replace(case.cuts, sizes=tuple(() for _ in case.cuts.sizes)))
    for part, sizes in enumerate(case.cuts.sizes):
        for i in range(len(sizes)):
            merged = (*sizes[:i], *((sizes[i] + sizes[i + 1], *sizes[i + 2 :]) if i + 1 < len(sizes) else ()))
            yield replace(case, cuts=replace(case.cuts, sizes=(*case.cuts.sizes[:part], merged, *case.cuts.sizes[part + 1 :])))


def _programs(case: Case) -> Iterator[Case]:
    """Without one output, without one verb: what came into it takes its place where that is possible."""
    outputs = case.program.outputs
    if len(outputs) > 1:
        for output in outputs:
            yield replace(case, program=Program((output,)))
    for topic, end in outputs:
        # What comes before the last verb, of whatever kind.
        for source in (source for source in end.inputs if source.inputs):
            yield replace(case, program=Program(((topic, source),)))
    for node in reversed(case.program.nodes()):
        for source in node.inputs:
            if (
                source.kind == node.kind
                and set(_needed(case.program, node)) <= set(source.columns)
                and not (node.verb == "key_by" and set(node.key) != set(source.key) and _keyed_use(case.program, node))
            ):
                made = {id(node): source}
                yield replace(case, program=Program(tuple((topic, _rebuilt(end, made)) for topic, end in outputs)))


def _aggregates(case: Case) -> Iterator[Case]:
    """With one aggregate less, if nothing behind it uses it."""
    for node in case.program.nodes():
        names = list(node.options.get("aggregates", {}))
        for name in names if len(names) > 1 else ():
            if name in _needed(case.program, node):
                continue
            kept = {other: value for other, value in node["aggregates"].items() if other != name}
            columns = {other: kind for other, kind in node.columns.items() if other != name}
            options = {**node.options, "aggregates": kept}
            less = Node(node.verb, node.inputs, columns, node.key, node.kind, node.unique, options)
            made = {id(node): less}
            yield replace(case, program=Program(tuple((topic, _rebuilt(end, made)) for topic, end in case.program.outputs)))


def _keyed_use(program: Program, node: Node) -> bool:
    return any(node in other.inputs and other.verb in ("window", "agg", "late") for other in program.nodes())


def _needed(program: Program, node: Node) -> set[str]:
    """Columns that verbs behind this one name. A guess by their texts: too many do no harm."""
    text = ""
    for other in program.nodes():
        if other is node or node not in _below(other):
            continue
        for value in other.options.values():
            items = list(value.values()) if isinstance(value, dict) else [value]
            text += " ".join(getattr(item, "text", repr(item)) for item in items) + " "
            text += repr(value) if isinstance(value, dict) else ""
        text += " ".join(other.key) + " "
    words = set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())
    return {name for name in node.columns if name in words}


def _below(node: Node) -> Iterator[Node]:
    yield node
    for source in node.inputs:
        yield from _below(source)


def _rebuilt(node: Node, made: dict[int, Node]) -> Node:
    """The same verbs over other inputs, with their columns as they then are."""
    if id(node) in made:
        return made[id(node)]
    inputs = tuple(_rebuilt(source, made) for source in node.inputs)
    if all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
        made[id(node)] = node
        return node
    lost = {name for old in node.inputs for name in old.columns} - {name for new in inputs for name in new.columns}
    columns = {name: kind for name, kind in node.columns.items() if name not in lost or name in _own(node)}
    options = dict(node.options)
    if "kept" in options:
        options["kept"] = [name for name in options["kept"] if name in columns]
    key = node.key if all(name in columns for name in node.key) else ()
    if node.verb in ("where", "with_columns", "select", "split", "drop", "dedupe", "merge", "explode"):
        key = inputs[0].key if all(name in columns for name in inputs[0].key) else ()
    made[id(node)] = Node(node.verb, inputs, columns, key, node.kind, node.unique, options)
    return made[id(node)]


def _own(node: Node) -> set[str]:
    """The columns that the verb makes itself."""
    return {
        *node.options.get("named", {}),
        *node.options.get("aggregates", {}),
        "window_start",
        "window_end",
        "final",
        "late_by",
    }


def _records(case: Case) -> Iterator[Case]:
    """Without a part of the records: halves first, then quarters, down to single ones. Batches keep their bounds."""
    total = len(case.history.records)
    size = total // 2
    while size >= 1:
        for begin in range(0, total, size):
            yield _without(case, begin, begin + size)
        size //= 2
    for part in range(len(case.history.barriers) - 1):
        if case.history.barriers[part].to is not None:
            barriers = (*case.history.barriers[:part], Barrier(), *case.history.barriers[part + 1 :])
            yield replace(case, history=History(case.history.parts, barriers))


def _without(case: Case, begin: int, end: int) -> Case:
    parts: list[tuple[Record, ...]] = []
    sizes: list[tuple[int, ...]] = []
    place = 0
    for part, records in enumerate(case.history.parts):
        kept: list[Record] = []
        counts: list[int] = []
        bounds = [*case.cuts.sizes[part], len(records) - sum(case.cuts.sizes[part])]
        offset = 0
        for count in bounds:
            batch = [
                record for i, record in enumerate(records[offset : offset + count]) if not begin <= place + offset + i < end
            ]
            kept += batch
            counts.append(len(batch))
            offset += count
        parts.append(tuple(kept))
        sizes.append(tuple(counts[:-1]))
        place += len(records)
    return replace(case, history=History(tuple(parts), case.history.barriers), cuts=Cuts(tuple(sizes), case.cuts.crashes))
