"""The verbs over the nodes: each checks what it is given at the user's line and returns a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from headrace.errors import PlanError
from headrace.plan import checks, cuts, expressions, schema
from headrace.plan.callsite import CallSite
from headrace.plan.durations import Duration, micros
from headrace.plan.nodes import (
    SOURCE_HIDDEN,
    TIME,
    Aggregate,
    Apply,
    Bad,
    Dedupe,
    Emit,
    Explode,
    Filter,
    Format,
    Join,
    KeyBy,
    Merge,
    Node,
    Project,
    Source,
    Window,
    query,
)
from headrace.plan.schema import Schema

WINDOW_COLUMNS = ("window_start", "window_end")
_ONE_COLUMN = {"text": ("value", "string"), "bytes": ("value", "binary")}
_VERSIONS = ("tinyint", "smallint", "int", "integer", "bigint", "long", "timestamp", "timestamp_ltz", "date")


def source(
    topic: str,
    site: CallSite,
    *,
    fields: Schema | None,
    time: str | None,
    lateness: Duration | None,
    format: Format,
    bad: Bad,
    start: Literal["earliest", "latest"],
    key: tuple[str, ...] = (),
    version: str | None = None,
) -> Source:
    """A topic as a stream, or, with a key, as a table."""
    where = site.where
    what = f"the {'table' if key else 'stream'} {topic!r}"
    checks.one_of("format", format, ("json", "text", "bytes"), where)
    checks.one_of("bad", bad, ("fail", "skip"), where)
    checks.one_of("start", start, ("earliest", "latest"), where)
    if not isinstance(topic, str) or not topic.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(f"{topic!r} is not the name of a topic", where=where)
    if format == "json" and fields is None:
        raise PlanError(f"{what} has no schema", where=where, fix=f"add {schema.EXAMPLE}")
    if format != "json" and fields is not None:
        raise PlanError(
            f"format={format!r} has one column, `value`, and takes no schema", where=where, fix="leave the schema out"
        )
    if fields is not None:
        parsed = schema.parse(fields, where)
    else:
        # Such a value has no columns; a table's key is then the record's key.
        parsed = (*((name, "string") for name in key), _ONE_COLUMN[format])
    names = tuple(name for name, _ in parsed)
    for name in key:
        if name not in names:
            raise expressions.unknown_column(name, names, of=f"{what} (key={name!r})", where=where)
    if format != "json" and len(key) > 1:
        raise PlanError(f"with format={format!r} a table's key is one column", where=where)
    if time is not None:
        if time not in names:
            raise expressions.unknown_column(time, names, of=f"{what} (time={time!r})", where=where)
        kind = schema.plain(dict(parsed)[time])
        if kind not in ("timestamp", "timestamp_ltz"):
            raise PlanError(
                f"the time column {time!r} is a {kind}, not a timestamp",
                where=where,
                fix=f'declare it as "{time} timestamp": ISO text and epoch numbers are both read as timestamps',
            )
    if version is not None:
        if version not in names:
            raise expressions.unknown_column(version, names, of=f"{what} (version={version!r})", where=where)
        if (kind := schema.plain(dict(parsed)[version])) not in _VERSIONS:
            raise PlanError(
                f"the version column {version!r} is a {kind}",
                where=where,
                fix="a version is a whole number, a timestamp or a date",
            )
    return Source(
        where=where,
        columns=names,
        hidden=(TIME,) if key else SOURCE_HIDDEN,
        key=key,
        kind="table" if key else "stream",
        version=version,
        lateness=None if lateness is None else micros(lateness, what="lateness", where=where, zero=True),
        topic=topic,
        format=format,
        fields=parsed,
        time=time,
        bad=bad,
        start=start,
    )


def filter(node: Node, condition: str, site: CallSite) -> Filter:
    node = cuts.changing(node, site)
    udfs = checks.check(node, [condition], site)
    return Filter(**checks.same(node, site, udfs), input=node, condition=condition)


def select(node: Node, columns: Iterable[str], named: Mapping[str, str], site: CallSite) -> Project:
    items: list[tuple[str, str]] = []
    for column in columns:
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
        **checks.same(node, site, udfs, columns=checks.named_well(columns, site.where)),
        input=node,
        name=name,
        expression=expression,
    )


def apply(node: Node, function: Callable[..., Any], columns: Sequence[str] | None, site: CallSite) -> Apply:
    if not callable(function):
        raise PlanError("apply() takes a function from DataFrame to DataFrame", where=site.where)
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
                f"merged streams need the same columns; not in both: {', '.join(missing)}",
                where=site.where,
                fix="bring them to the same columns with select() first",
            )
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
    # `is true` / `is not true`: an event for which a condition is null goes on to the next one, not nowhere.
    before: list[str] = []
    parts: list[str] = []
    for condition in conditions:
        parts.append(" and ".join([*before, f"(({condition}) is true)"]))
        before.append(f"(({condition}) is not true)")
    parts.append(" and ".join(before))
    return tuple(Filter(**checks.same(node, site, udfs), input=node, condition=part) for part in parts)


def dedupe(node: Node, columns: Sequence[str], within: Duration | None, site: CallSite) -> Dedupe:
    by = tuple(columns) or node.key
    if not by:
        raise PlanError("dedupe() needs the columns in which duplicates are equal", where=site.where, fix='write dedupe("id")')
    checks.exist(node, by, site.where)
    checks.no_table(node, "dedupe", site.where)
    if within is not None and node.lateness is None:
        raise PlanError(
            "dedupe(within=...) needs to know how late events can be",
            where=site.where,
            fix='add lateness="10 seconds" to the stream',
        )
    bound = None if within is None else micros(within, what="within", where=site.where)
    return Dedupe(**checks.same(node, site), input=node, by=by, within=bound)


def key_by(node: Node, columns: Sequence[str], named: Mapping[str, str], site: CallSite) -> KeyBy:
    checks.exist(node, columns, site.where)
    base = with_columns(node, named, site) if named else node
    key = (*columns, *named)
    if not key:
        raise PlanError("key_by() needs a column", where=site.where, fix='write key_by("symbol")')
    return KeyBy(**checks.same(base, site, key=key), input=base)


def checked_emit(node: Node, window: Window, emit: Emit | None, site: CallSite) -> Emit:
    where = site.where
    if not isinstance(window, Window):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(f"window() takes a window, not {window!r}", where=where, fix='write window(hr.tumbling("5 minutes"))')
    if emit is not None:
        checks.one_of("emit", emit, ("updates", "final"), where)
    if window.kind == "session" and emit == "updates":
        raise PlanError("a session can't be emitted before it ends", where=where, fix='write emit="final" or leave emit out')
    if window.kind == "session" and not node.key:
        raise PlanError("a session window needs a key", where=where, fix='write key_by("user") before it')
    chosen: Emit = emit or ("final" if window.kind == "session" else "updates")
    if TIME not in node.hidden:
        raise PlanError(
            "a window needs events with a time, and these have none",
            where=where,
            fix="window a stream, not what came of a table",
        )
    if chosen == "final" and node.lateness is None:
        raise PlanError(
            "a window can only be final when it is known how late events can be",
            where=where,
            fix='add lateness="10 seconds" to the stream',
        )
    return chosen


def aggregate(node: Node, aggregates: Mapping[str, str], window: Window | None, emit: Emit, site: CallSite) -> Aggregate:
    where = site.where
    if not aggregates:
        raise PlanError("agg() got no aggregates", where=where, fix='write agg(total="sum(price)", n="count(*)")')
    checks.no_table(node, "an aggregate", where)
    udfs = checks.check(node, aggregates.values(), site)
    if (window is None or emit == "updates") and any(isinstance(n, Aggregate | Join) for n in query(node)):
        # Those give rows in the end only, this one whenever they change: Spark does not do both in one query.
        node = cuts.cut(node, site)
    extra = (*WINDOW_COLUMNS, "final") if window else ()
    for name in aggregates:
        if name in node.key or name in extra:
            raise PlanError(
                f"the aggregate {name!r} has the name of a column that is there already", where=where, fix="name it otherwise"
            )
    bounds, final = (WINDOW_COLUMNS, ("final",)) if window else ((), ())
    columns = checks.named_well((*node.key, *bounds, *aggregates, *final), where)
    closes = window is not None and emit == "final"
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
    )


def _project(node: Node, items: tuple[tuple[str, str], ...], site: CallSite) -> Project:
    udfs = checks.check(node, [text for _, text in items], site)
    names = checks.named_well(tuple(name for name, _ in items), site.where)
    lost = [name for name in node.key if name not in names]
    if lost and node.kind == "table":
        raise PlanError(f"a table keeps its key: {', '.join(lost)}", where=site.where, fix="select the key's columns too")
    changed = [name for name, text in items if name in node.key and text not in (name, schema.quoted(name))]
    if changed and node.kind == "table":
        raise PlanError(
            f"a table's key can't be changed: {', '.join(changed)}", where=site.where, fix="give the column another name"
        )
    key = () if lost else node.key
    return Project(**checks.same(node, site, udfs, columns=names, key=key), input=node, items=items)
