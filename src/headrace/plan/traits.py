"""What is true of each node, for all who ask: one case a node, and none for the rest, so that a new node is a type error here.

A verb that needs a node of its own says here what it keeps, what it waits for, how it is drawn, and where it can't run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from headrace.plan import durations
from headrace.plan.clocks import Ours, clock_text
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
    Named,
    Node,
    Pairs,
    Project,
    Read,
    TableAggregate,
    TableJoin,
    TooLate,
    inputs,
    reads,
    walk,
)
from headrace.plan.sql.schema import quoted
from headrace.plan.windows import Every, Late, Window, emit_text, window_text

Mode = Literal["append", "update"]
StepSize = Literal["record", "moment", "batch"]
"""What an operator takes as one change: the results of one record, of one point in time, or of a batch (kernel: StepSize)."""
_MILLI = 1000
BATCHES = "run without real-time mode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a node does; the defaults are those of one that looks at a row, emits rows for it, and remembers nothing."""

    keeps: bool = False
    """It has an operator that keeps state. A table that is only read does not count: what follows keeps its rows if it must."""
    watermark: Literal["unused", "forgets", "waits"] = "unused"
    """What it does when the watermark moves: nothing, forget, or emit what waited for it."""
    reach: int = 0
    """How long after an event's time something may wait for it, in microseconds."""
    mode: Mode | None = None
    """The output mode it needs, if only one will do."""
    rows: Literal["as before", "appended", "changed", "replaced"] = "appended"
    """Events; changes, with the row before; or rows that replace others, which are no longer known."""
    row_by_row: bool = False
    """It emits at most one row for each row, whatever the others are."""
    ends: bool = False
    """Nothing that emits updates can be computed from its rows in the same query."""
    overdue: bool = False
    """Its rows may be older than the watermark; only Spark knows by how much."""
    window: Window | None = None
    """Whose results it computes."""
    silence: int | None = None
    """The silence that closes it, if it has one of its own."""
    late: Late | None = None
    """What happens to events that come too late for it."""
    steps: StepSize | None = None
    """How finely it follows the changes of a table; None if as finely as what follows it.

    Where history matters, every version counts, wherever batches begin and end; elsewhere it is enough, and faster, to be
    right at the end of each batch.
    """
    texts: tuple[str, ...] = ()
    """Its expressions."""


def of(node: Node) -> Facts:
    match node:
        case Read() | Cut():
            return Facts(rows="changed" if node.kind == "table" else "appended")
        case Filter():
            return Facts(rows="as before", row_by_row=True, texts=(node.condition,))
        case Project():
            return Facts(rows="as before", row_by_row=True, texts=_expressions(node.items))
        case Explode():
            return Facts(texts=(node.expression,))
        case Apply():
            # What its function does is unknown here.
            return Facts(watermark="waits")
        case Merge():
            return Facts()
        case KeyBy():
            return Facts(row_by_row=True)
        case TooLate():
            return Facts(watermark="forgets")
        case Dedupe():
            return Facts(keeps=True, watermark="unused" if node.within is None else "forgets")
        case Aggregate():
            window, interval = node.window, node.emit.interval if isinstance(node.emit, Every) else None
            return Facts(
                keeps=True,
                watermark="unused" if window is None else "waits",
                reach=0 if window is None else window.size + (0 if interval is None else window.size + interval),
                # Spark's final windows know only append.
                mode="append" if node.native and node.emit == "final" else "update",
                rows="replaced" if node.kind == "table" else "appended",
                ends=True,
                window=window,
                silence=node.close_after,
                late=node.late,
                texts=_expressions(node.aggregates),
            )
        case Join():
            # Spark keeps a row for a millisecond more than a partner may come, and counts in whole ones there, too.
            reach = node.within + 2 * _MILLI
            return Facts(keeps=True, watermark="waits", reach=reach, mode="append", ends=True, overdue=True)
        case Lookup():
            return Facts(
                keeps=True,
                watermark="waits" if node.as_of == "event_time" else "unused",
                mode="update",
                steps="moment" if node.as_of == "event_time" else "batch",
            )
        case AsTable():
            return Facts(rows="changed", row_by_row=True)
        case Changes():
            return Facts(steps="record")
        case TableJoin():
            return Facts(keeps=True, rows="changed")
        case TableAggregate():
            return Facts(keeps=True, rows="changed", texts=_expressions(node.aggregates))


def needs_watermark(node: Node) -> bool:
    return of(node).watermark != "unused"


def waits(node: Node) -> bool:
    """Whether rows of it may come out only because the watermark moves."""
    return of(node).watermark == "waits"


def rows(node: Node) -> Literal["appended", "changed", "replaced"]:
    """Append-only or changing, as what follows finds it."""
    found = of(node).rows
    return found if found != "as before" else rows(inputs(node)[0])


def mode(nodes: Iterable[Node]) -> Mode:
    """Of a query: what Spark's joins and final windows need, or updates as soon as something emits them."""
    modes = {"update" if node.kind == "table" else of(node).mode for node in nodes}
    return "append" if "append" in modes or "update" not in modes else "update"


def reach(node: Node) -> int:
    """How long after an event's time something in its query may still wait for it."""
    # A watermark is in whole milliseconds: a pulse counts from the last one before it.
    return _MILLI + sum(of(each).reach for each in walk(node))


def of_record(node: Node) -> bool:
    """Whether each row is that of one record, and comes from the log by nothing that keeps state."""
    match node:
        case Read():
            return node.kind == "stream"
        case Filter() | Project() | Explode() | KeyBy():
            return node.kind == "stream" and of_record(node.input)
        case Merge():
            return node.kind == "stream" and all(map(of_record, node.inputs))
        case Apply() | Dedupe() | Aggregate() | TooLate() | Join() | AsTable() | Changes():
            return False
        case Lookup() | TableJoin() | TableAggregate() | Cut():
            return False


def drawn(node: Node) -> tuple[str, str]:
    """What `describe` calls it, and its details."""
    match node:
        case Read():
            time = f", time {clock_text(node.clock)}" if node.clock is not Ours.LOG else ""
            late = f", lateness {durations.text(node.lateness)}" if node.lateness is not None else ""
            by = f", table by {', '.join(node.key)}" if node.kind == "table" else ""
            details = f"{node.format.name}{by}{_version(node.version)}{time}{late}{_silence(node.close_after)}"
            return node.source.noun, f"{node.label} ({details})"
        case Filter():
            return "where", node.condition
        case Project():
            kept = [name if text in (name, quoted(name)) else f"{text} as {name}" for name, text in node.items]
            return "select", ", ".join(kept)
        case Explode():
            return "explode", f"{node.expression} as {node.name}"
        case Apply():
            return "apply", getattr(node.function, "__name__", "function")
        case Merge():
            return "merge", ""
        case Join():
            return "join", f"{node.how} on {', '.join(node.on)} within {durations.text(node.within)}"
        case Dedupe():
            return "dedupe", ", ".join(node.by) + _within(node)
        case KeyBy():
            return "key by", ", ".join(node.key)
        case AsTable():
            return "as table", f"by {', '.join(node.key)}{_version(node.version)}"
        case Changes():
            return "changes", ""
        case Lookup():
            return "join table", f"{node.how} on {_pairs(node.on)} as of {_as_of(node)}"
        case TableJoin():
            return "join tables", f"{node.how} on {_pairs(node.on)}"
        case TableAggregate():
            by = f" by {', '.join(node.key)}" if node.key else ""
            return "aggregate table", _as_named(node.aggregates) + by
        case Cut():
            return "cut", ""
        case TooLate():
            return "late", f"for {window_text(node.window)}"
        case Aggregate():
            if node.window is None:
                return "aggregate", _as_named(node.aggregates)
            over = f"{window_text(node.window)}, emit {emit_text(node.emit)}{_silence(node.close_after)}"
            return "window", f"{over}: {_as_named(node.aggregates)}"


def state(node: Node) -> str | None:
    """The state of a node, in words, which a checkpoint must match; None for a node that keeps nothing."""
    match node:
        case Aggregate():
            over = f" over {window_text(node.window)}, {emit_text(node.emit)}" if node.window else ""
            return f"aggregate {_aggregates(node.aggregates)}{_by(node.input, node.input.key)}{over}{_of(node)}"
        case Join():
            return f"join {node.how} on {', '.join(node.on)} within {durations.text(node.within)}{_of(node)}"
        case Dedupe():
            return f"dedupe {_defined(node.input, node.by)}{_within(node)}{_of(node)}"
        case Read():
            newest = f"newest row by {', '.join(node.key)} of {node.label}{_version(node.version)}"
            return newest if node.kind == "table" else None
        case AsTable():
            return f"newest row{_by(node.input, node.key)}{_version(node.version)}{_of(node)}"
        case Lookup():
            # What its tables are computed from waits for the watermark: state that other readers of them do not have.
            waits = " in order of time" if node.as_of == "event_time" and _computed(node.table) else ""
            return f"lookup {node.how} on {_pairs(node.on)} as of {_as_of(node)}{waits}{_of(node)}"
        case TableJoin():
            return f"table join {node.how} on {_pairs(node.on)}{_of(node)}"
        case TableAggregate():
            return f"table aggregate {_aggregates(node.aggregates)}{_by(node.input, node.key)}{_of(node)}"
        case Filter() | Project() | Explode() | Apply() | Merge() | KeyBy() | TooLate() | Changes() | Cut():
            return None


def not_in_realtime(node: Node) -> tuple[str, str] | None:
    """What real-time mode does not support, and what to do instead."""
    if node.udfs:
        return f"the Python function {node.udfs[0].name}()", f"write it as an SQL expression, or {BATCHES}"
    match node:
        case Aggregate():
            if node.window is not None and node.window.kind in ("session", "sliding", "cumulating"):
                return f"a {node.window.kind} window", f"take a tumbling or hopping window, or {BATCHES}"
            if node.emit != "updates":
                return f'a window with emit="{emit_text(node.emit)}"', f'write emit="updates", or {BATCHES}'
            return None if node.late != "divert" else ('a window with late="divert"', f'write late="drop", or {BATCHES}')
        case Join():
            return "a join of two streams", BATCHES
        case Dedupe():
            fix = f"leave within out, which keeps every key forever, or {BATCHES}"
            return None if node.within is None else ("dedupe(within=…)", fix)
        case TableJoin():
            return "a join of two tables", BATCHES
        case Lookup():
            if node.as_of == "event_time":
                # It waits for the watermark, which stands still until the batch ends.
                return "a join as of the event's time", f'write as_of="arrival", or {BATCHES}'
            return _union(node, "a join with a table")
        case Merge():
            return _union(node, "a merge")
        case AsTable() | Changes() | TableAggregate() | TooLate() | Cut():
            return None
        case Read() | Filter() | Project() | Explode() | Apply() | KeyBy():
            # What the function of apply() does is not known here; Spark says it when the query starts.
            return None


def _union(node: Node, what: str) -> tuple[str, str] | None:
    """The inputs become one stream; in real-time mode Spark requires a source for each, and no state before them."""
    before = [part for side in inputs(node) for part in walk(side)]
    titles = [read.source.title for side in inputs(node) for read in reads(side)]
    if twice := next((title for title in titles if titles.count(title) > 1), None):
        return f"{what} that reads {twice} twice", BATCHES
    if keeper := next((part for part in before if of(part).keeps), None):
        line = f"{keeper.where.file}:{keeper.where.line}"
        return f"{what} whose input keeps state", f"write the result of {line} to a topic and read that, or {BATCHES}"
    return None


def _computed(table: Node) -> bool:
    """Whether the kernel computes it from other tables."""
    match table:
        case Filter() | Project():
            return _computed(table.input)
        case TableJoin() | TableAggregate():
            return True
        case Read() | AsTable() | Aggregate() | Cut() | KeyBy() | Merge() | Apply() | Explode():
            return False
        case Dedupe() | Join() | Lookup() | Changes() | TooLate():
            return False


def _defined(node: Node, names: Sequence[str]) -> str:
    return ", ".join(_definition(node, name) for name in names)


def _definition(node: Node, name: str) -> str:
    """A column with its expression: the same name with other contents is another key."""
    match node:
        case Project():
            text = dict(node.items).get(name, name)
            return _definition(node.input, name) if text in (name, quoted(name)) else f"{name}={text}"
        case Explode():
            return f"{name}={node.expression}" if node.name == name else name
        case Filter() | Dedupe() | KeyBy() | AsTable() | Changes():
            return _definition(node.input, name)
        case Read() | Apply() | Merge() | Aggregate() | TooLate() | Join():
            return name
        case Lookup() | TableJoin() | TableAggregate() | Cut():
            return name


def _expressions(named: Named) -> tuple[str, ...]:
    return tuple(text for _, text in named)


def _aggregates(named: Named) -> str:
    return ", ".join(f"{name}={text}" for name, text in named)


def _as_named(named: Named) -> str:
    return ", ".join(f"{text} as {name}" for name, text in named)


def _by(node: Node, key: Sequence[str]) -> str:
    return f" by {_defined(node, key)}" if key else ""


def _of(node: Node) -> str:
    return " of " + ", ".join(dict.fromkeys(read.label for read in reads(node)))


def _pairs(pairs: Pairs) -> str:
    return ", ".join(mine if mine == theirs else f"{mine} = {theirs}" for mine, theirs in pairs)


def _as_of(node: Lookup) -> str:
    return f"event time for {durations.text(node.history)}" if node.as_of == "event_time" else "arrival"


def _version(version: str | None) -> str:
    return f", version {version}" if version else ""


def _within(node: Dedupe) -> str:
    return f" within {durations.text(node.within)}" if node.within is not None else ""


def _silence(close_after: int | None) -> str:
    return f", closed after {durations.text(close_after)} of silence" if close_after is not None else ""
