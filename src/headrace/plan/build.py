"""The verbs over the nodes: each checks what it is given at the user's line and returns a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace import formats
from headrace.errors import PlanError, Where
from headrace.plan import checks, cuts, silence, traits
from headrace.plan.callsite import CallSite
from headrace.plan.clocks import Clock, Device, Moment, Ours
from headrace.plan.durations import Duration, micros
from headrace.plan.format import Format
from headrace.plan.nodes import (
    CLOCK_OFFSET,
    SOURCE_HIDDEN,
    TIME,
    Aggregate,
    Apply,
    Bad,
    Dedupe,
    Explode,
    Filter,
    KeyBy,
    Merge,
    Node,
    Project,
    Read,
    TooLate,
    query,
)
from headrace.plan.source import Source
from headrace.plan.sql import expressions, schema
from headrace.plan.sql.schema import Schema
from headrace.plan.windows import Emit, Every, Late, Window

WINDOW_COLUMNS = ("window_start", "window_end")
_TIMESTAMPS = ("timestamp", "timestamp_ltz")
_NUMBERS = ("int", "integer", "bigint", "long", "double", "float")
_VERSIONS = ("tinyint", "smallint", "int", "integer", "bigint", "long", "timestamp", "timestamp_ltz", "date")


def source(
    source: Source,
    site: CallSite,
    *,
    fields: Schema | None,
    time: str | Clock | None,
    lateness: Duration | None,
    format: str | Format | None,
    key_format: str | Format = "text",
    bad: Bad,
    max_ahead: Duration | None = None,
    idle_after: Duration | None = None,
    close_after: Duration | None = None,
    key: tuple[str, ...] = (),
    version: str | None = None,
) -> Read:
    """What is read as a stream, or, with a key, as a table."""
    where = site.where
    what = f"the {'table' if key else 'stream'} {source.label!r}"
    if source.format is not None and format is not None:
        raise PlanError(f"{source.title} say their format themselves", where=where, fix="leave format= out")
    format = formats.of(format or source.format or "json", where)
    key_format = formats.of(key_format, where, argument="key_format")
    checks.one_of("bad", bad, ("dead", "skip", "fail"), where)
    if format.fields is None and fields is None:
        raise PlanError(f"{what} has no schema", where=where, fix=f"add {schema.EXAMPLE}")
    if format.fields is not None and fields is not None:
        raise PlanError(
            f"format={format.name!r} has one column, `value`, and takes no schema", where=where, fix="leave the schema out"
        )
    # A value without columns has no key in it; a table's key is then the record's.
    alone = (*((name, "string") for name in key), *(format.fields or ()))
    parsed = schema.parse(fields, where) if fields is not None else alone
    names = tuple(name for name, _ in parsed)
    for name in key:
        if name not in names:
            raise expressions.unknown_column(name, names, of=f"{what} (key={name!r})", where=where)
    if key and key_format.name == "bytes":
        raise PlanError("a table's key is text or JSON", where=where, fix='write key_format="text" or "json"')
    if format.fields is not None and len(key) > 1:
        raise PlanError(f"with format={format.name!r} a table's key is one column", where=where, fix="name one column")
    clock = _clock(time, parsed, what, where)
    for option, value in (("idle_after", idle_after), ("close_after", close_after)):
        if value is not None and lateness is None:
            raise _no_lateness(option, where)
    if version is not None:
        if version not in names:
            raise expressions.unknown_column(version, names, of=f"{what} (version={version!r})", where=where)
        if (kind := schema.plain(dict(parsed)[version])) not in _VERSIONS:
            raise PlanError(
                f"the version column {version!r} is a {kind}",
                where=where,
                fix="a version is a whole number, a timestamp or a date",
            )
    read = Read(
        where=where,
        columns=names,
        hidden=(TIME,) if key else (*SOURCE_HIDDEN, *((CLOCK_OFFSET,) if isinstance(clock, Device) else ()), *source.hidden),
        key=key,
        kind="table" if key else "stream",
        version=version,
        lateness=None if lateness is None else _lateness(lateness, where),
        source=source,
        format=format,
        key_format=key_format,
        fields=parsed,
        clock=clock,
        bad=bad,
        max_ahead=None if max_ahead is None else micros(max_ahead, what="max_ahead", where=where),
        idle_after=None if idle_after is None else micros(idle_after, what="idle_after", where=where),
        close_after=None if close_after is None else micros(close_after, what="close_after", where=where),
    )
    source.check(read)
    return read


def _lateness(lateness: Duration, where: Where) -> int:
    """In whole milliseconds, which is what Spark's watermark knows; rounded up, so that nothing is late too early."""
    return -(-micros(lateness, what="lateness", where=where, zero=True) // 1000) * 1000


def _clock(time: str | Clock | None, fields: schema.Fields, what: str, where: Where) -> Clock:
    if time is None or isinstance(time, Ours):
        return time or Ours.LOG
    if isinstance(time, Device):
        moments = [time.occurred, time.sent, *([time.received] if time.received else [])]
    else:
        moments = [Moment(time) if isinstance(time, str) else time]
    for moment in moments:
        if not isinstance(moment, Moment):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise PlanError(
                f"time={time!r} is not a clock", where=where, fix='write time="at", the column of the event\'s time'
            )
        _moment(moment, dict(fields), what, where)
    return time if isinstance(time, Device) else moments[0]


def _moment(moment: Moment, types: Mapping[str, str], what: str, where: Where) -> None:
    name = moment.column
    if name not in types:
        raise expressions.unknown_column(name, tuple(types), of=f"{what} (time={name!r})", where=where)
    kind = schema.plain(types[name])
    if kind in _NUMBERS and moment.unit is None:
        raise PlanError(
            f"the time column {name!r} is a {kind}, not a timestamp",
            where=where,
            fix=f'declare it as "{name} timestamp", or say what it counts: time=hr.event_time("{name}", unit="millis")',
        )
    if kind == "string" and moment.unit is None and moment == Moment(name):
        raise PlanError(
            f"the time column {name!r} is a string, not a timestamp",
            where=where,
            fix=f'declare it as "{name} timestamp", or say in which zone it is: '
            f'time=hr.event_time("{name}", zone="Europe/Berlin")',
        )
    if kind not in (*_TIMESTAMPS, *_NUMBERS, "string") or (moment.unit is not None and kind not in _NUMBERS):
        raise PlanError(
            f"the time column {name!r} is a {kind}, not a timestamp",
            where=where,
            fix=f'declare it as "{name} timestamp": ISO text and epoch numbers are both read as timestamps',
        )


def filter(node: Node, condition: str, site: CallSite) -> Filter:
    node = cuts.changing(node, site)
    udfs = checks.check(node, [condition], site)
    return Filter(**checks.same(node, site.where, udfs), input=node, condition=condition)


def select(node: Node, columns: Iterable[str], named: Mapping[str, str], site: CallSite) -> Project:
    items: list[tuple[str, str]] = []
    for column in columns:
        checks.is_text(column, site.where)
        items += (
            [(name, schema.quoted(name)) for name in node.columns] if column == "*" else [expressions.named(column, site.where)]
        )
    return _project(node, (*items, *named.items()), site)


def with_columns(node: Node, named: Mapping[str, str], site: CallSite) -> Project:
    if not named:
        raise PlanError("with_columns() got no columns", where=site.where, fix='write with_columns(value="price * qty")')
    replaced = [(name, named.get(name, schema.quoted(name))) for name in node.columns]
    added = [(name, text) for name, text in named.items() if name not in node.columns]
    return _project(node, (*replaced, *added), site)


def drop(node: Node, columns: Sequence[str], site: CallSite) -> Project:
    checks.exist(node, columns, site.where)
    kept = tuple((name, schema.quoted(name)) for name in node.columns if name not in columns)
    return _project(node, kept, site)


def explode(node: Node, expression: str, name: str, site: CallSite) -> Explode:
    udfs = checks.check(node, [expression], site)
    columns = (*(column for column in node.columns if column != name), name)
    return Explode(
        **checks.same(node, site.where, udfs, columns=checks.named_well(columns, site.where)),
        input=node,
        name=name,
        expression=expression,
    )


def apply(node: Node, function: Callable[..., Any], columns: Sequence[str] | None, site: CallSite) -> Apply:
    if not callable(function):
        raise PlanError(
            "apply() takes a function from DataFrame to DataFrame", where=site.where, fix="write apply(lambda frame: …)"
        )
    names = node.columns if columns is None else checks.named_well(tuple(columns), site.where)
    key = node.key if set(node.key) <= set(names) else ()
    return Apply(
        where=site.where, columns=names, hidden=(TIME,), key=key, lateness=node.lateness, input=node, function=function
    )


def merge(nodes: tuple[Node, ...], site: CallSite) -> Merge:
    first = nodes[0]
    if len(nodes) < 2:
        raise PlanError("merge() needs another stream", where=site.where, fix="write one.merge(other)")
    for other in nodes[1:]:
        if set(other.columns) != set(first.columns):
            missing = sorted(set(first.columns) ^ set(other.columns))
            raise PlanError(
                f"merge() needs streams with the same columns; only one side has: {', '.join(missing)}",
                where=site.where,
                fix="select() the same columns on both sides first",
            )
    nodes = cuts.apart(nodes, site)
    lateness = [node.lateness for node in nodes]
    hidden = tuple(name for name in first.hidden if all(name in node.hidden for node in nodes))
    key = first.key if all(node.key == first.key for node in nodes) else ()
    return Merge(
        where=site.where,
        columns=first.columns,
        hidden=hidden,
        key=key,
        lateness=None if None in lateness else max(value for value in lateness if value is not None),
        inputs=nodes,
    )


def split(node: Node, conditions: Sequence[str], site: CallSite) -> tuple[Filter, ...]:
    if not conditions:
        raise PlanError("split() needs a condition", where=site.where, fix='write big, rest = stream.split("qty > 100")')
    udfs = checks.check(node, conditions, site)
    # `is true` / `is not true`: an event for which a condition is null is tried with the next one.
    before: list[str] = []
    parts: list[str] = []
    for condition in conditions:
        parts.append(" and ".join([*before, f"(({condition}) is true)"]))
        before.append(f"(({condition}) is not true)")
    parts.append(" and ".join(before))
    return tuple(Filter(**checks.same(node, site.where, udfs), input=node, condition=part) for part in parts)


def dedupe(node: Node, columns: Sequence[str], within: Duration | None, site: CallSite) -> Dedupe:
    by = tuple(columns) or node.key
    if not by:
        raise PlanError("dedupe() needs the columns that identify a duplicate", where=site.where, fix='write dedupe("id")')
    checks.exist(node, by, site.where)
    checks.no_table(node, "dedupe", site.where)
    if within is not None and node.lateness is None:
        raise PlanError(
            "dedupe(within=...) needs to know how late events can be",
            where=site.where,
            fix='add lateness="10 seconds" to the stream',
        )
    bound = None if within is None else micros(within, what="within", where=site.where)
    return Dedupe(**checks.same(node, site.where), input=node, by=by, within=bound)


def key_by(node: Node, columns: Sequence[str], named: Mapping[str, str], site: CallSite) -> KeyBy:
    checks.exist(node, columns, site.where)
    base = with_columns(node, named, site) if named else node
    key = (*columns, *named)
    if not key:
        raise PlanError("key_by() needs a column", where=site.where, fix='write key_by("symbol")')
    return KeyBy(**checks.same(base, site.where, key=key), input=base)


@dataclass(frozen=True, slots=True)
class Windowed:
    """A node and the windows over it, ready to be aggregated. `close_after` is the windows' own."""

    node: Node
    window: Window
    emit: Emit
    late: Late
    close_after: int | None


def windowed(
    node: Node, window: Window, emit: Emit | None, late: Late, close_after: Duration | None, site: CallSite
) -> Windowed:
    chosen = _emit(node, window, emit, late, site)
    if close_after is not None and node.lateness is None:
        raise _no_lateness("close_after", site.where)
    own = None if close_after is None else micros(close_after, what="close_after", where=site.where)
    if chosen == "updates" and any(traits.of(below).ends for below in query(node)):
        # Those emit rows at the end only, this one whenever they change: Spark does not do both in one query.
        node = cuts.cut(node, site)
    (node,) = cuts.apart((node,), site, silence.of_streams(node) if own is None else own)
    return Windowed(node, window, chosen, late, own)


def _no_lateness(option: str, where: Where) -> PlanError:
    return PlanError(
        f"{option}= has no effect on a stream without lateness=",
        where=where,
        fix='add lateness="10 seconds" to the stream',
    )


def _emit(node: Node, window: Window, emit: Emit | None, late: Late, site: CallSite) -> Emit:
    where = site.where
    if not isinstance(window, Window):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(f"window() takes a window, not {window!r}", where=where, fix='write window(hr.tumbling("5 minutes"))')
    if emit is not None and not isinstance(emit, Every):
        checks.one_of("emit", emit, ("updates", "final", "all"), where)
    checks.one_of("late", late, ("drop", "divert", "fail"), where)
    if late != "drop" and any(traits.of(below).overdue for below in query(node)):
        raise PlanError(
            "late= is not supported after a join of streams",
            where=where,
            fix="leave late= out, or write the join to a topic and read that topic",
        )
    if window.kind == "session" and not node.key:
        raise PlanError("a session window needs a key", where=where, fix='write key_by("user") before it')
    if window.kind == "cumulating" and emit not in (None, "final"):
        raise PlanError(
            "a cumulating window emits its total at each step, whatever emit= says", where=where, fix="leave emit out"
        )
    if window.kind == "sliding" and isinstance(emit, Every):
        raise PlanError(
            "a sliding window emits a result whenever an event enters or leaves it",
            where=where,
            fix='write emit="final", or hr.hopping(size, every=...) for results at intervals',
        )
    chosen: Emit = emit or ("final" if window.kind in ("session", "sliding", "cumulating") else "updates")
    if TIME not in node.hidden:
        raise PlanError(
            "a window needs events with a time, and these have none",
            where=where,
            fix="window the stream before it becomes a table",
        )
    if node.lateness is None:
        lacking = None
        if chosen != "updates":
            lacking = "a final window needs to know how late events can be"
        elif window.kind in ("session", "sliding"):
            lacking = f"a {window.kind} window needs to know how late events can be"
        elif late != "drop":
            lacking = f"late={late!r} needs to know how late events can be"
        if lacking is not None:
            raise PlanError(lacking, where=where, fix='add lateness="10 seconds" to the stream')
    return chosen


def aggregate(over: Node | Windowed, aggregates: Mapping[str, str], site: CallSite) -> Aggregate:
    where = site.where
    window, emit, late, close_after = None, "updates", "drop", None
    if isinstance(over, Windowed):
        node, window, emit, late, close_after = over.node, over.window, over.emit, over.late, over.close_after
    else:
        node = over
    if not aggregates:
        raise PlanError("agg() got no aggregates", where=where, fix='write agg(total="sum(price)", n="count(*)")')
    checks.no_table(node, "an aggregate", where)
    udfs = checks.check(node, aggregates.values(), site)
    if window is None and any(traits.of(below).ends for below in query(node)):
        node = cuts.cut(node, site)
    extra = (*WINDOW_COLUMNS, "final") if window else ()
    for name in aggregates:
        if name in node.key or name in extra:
            raise PlanError(
                f"the aggregate {name!r} has the name of an existing column", where=where, fix="choose another name"
            )
    bounds, final = (WINDOW_COLUMNS, ("final",)) if window else ((), ())
    columns = checks.named_well((*node.key, *bounds, *aggregates, *final), where)
    closes = window is not None and (emit == "final" or isinstance(emit, Every))
    return Aggregate(
        where=where,
        udfs=udfs,
        columns=columns,
        hidden=(TIME,) if closes else (),
        key=(*node.key, *bounds[:1]),
        kind="stream" if closes else "table",
        lateness=node.lateness,
        input=node,
        aggregates=tuple(aggregates.items()),
        window=window,
        emit=emit,
        late=late,
        close_after=close_after,
    )


def too_late(over: Windowed, site: CallSite) -> TooLate:
    """Emitted by the query that has the aggregate of these windows, which knows what was late."""
    node = over.node
    if over.late != "divert":
        raise PlanError(
            f"with late={over.late!r} there is no stream of late events",
            where=site.where,
            fix='write window(..., late="divert")',
        )
    columns = checks.named_well((*node.columns, *WINDOW_COLUMNS, "late_by"), site.where)
    return TooLate(**checks.same(node, site.where, columns=columns, hidden=(TIME,)), input=node, window=over.window)


def _project(node: Node, items: tuple[tuple[str, str], ...], site: CallSite) -> Project:
    udfs = checks.check(node, [text for _, text in items], site)
    names = checks.named_well(tuple(name for name, _ in items), site.where)
    lost = [name for name in node.key if name not in names]
    if lost and node.kind == "table":
        raise PlanError(f"a table must keep its key: {', '.join(lost)}", where=site.where, fix="select the key's columns too")
    changed = [name for name, text in items if name in node.key and text not in (name, schema.quoted(name))]
    if changed and node.kind == "table":
        raise PlanError(
            f"a table's key can't be changed: {', '.join(changed)}", where=site.where, fix="give the column another name"
        )
    key = () if lost else node.key
    return Project(**checks.same(node, site.where, udfs, columns=names, key=key), input=node, items=items)
