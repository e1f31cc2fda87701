"""The verbs over the nodes: each checks what it is given at the user's line and returns a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from headrace.errors import PlanError, Where
from headrace.plan import expressions, schema
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
    How,
    Join,
    KeyBy,
    Merge,
    Node,
    Project,
    Source,
    Udf,
    Window,
    walk,
)
from headrace.plan.schema import Schema

WINDOW_COLUMNS = ("window_start", "window_end")
_ONE_COLUMN: dict[str, schema.Fields] = {"text": (("value", "string"),), "bytes": (("value", "binary"),)}


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
) -> Source:
    where = site.where
    _one_of("format", format, ("json", "text", "bytes"), where)
    _one_of("bad", bad, ("fail", "skip"), where)
    _one_of("start", start, ("earliest", "latest"), where)
    if not isinstance(topic, str) or not topic.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(f"{topic!r} is not the name of a topic", where=where)
    if format == "json" and fields is None:
        raise PlanError(f"the stream {topic!r} has no schema", where=where, fix=f"add {schema.EXAMPLE}")
    if format != "json" and fields is not None:
        raise PlanError(
            f"format={format!r} has one column, `value`, and takes no schema", where=where, fix="leave the schema out"
        )
    parsed = schema.parse(fields, where) if fields is not None else _ONE_COLUMN[format]
    names = tuple(name for name, _ in parsed)
    if time is not None:
        if time not in names:
            raise expressions.unknown_column(time, names, of=f"the stream {topic!r} (time={time!r})", where=where)
        kind = schema.plain(dict(parsed)[time])
        if kind not in ("timestamp", "timestamp_ltz"):
            raise PlanError(
                f"the time column {time!r} is a {kind}, not a timestamp",
                where=where,
                fix=f'declare it as "{time} timestamp": ISO text and epoch numbers are both read as timestamps',
            )
    return Source(
        where=where,
        columns=names,
        hidden=SOURCE_HIDDEN,
        lateness=None if lateness is None else micros(lateness, what="lateness", where=where, zero=True),
        topic=topic,
        format=format,
        fields=parsed,
        time=time,
        bad=bad,
        start=start,
    )


def filter(node: Node, condition: str, site: CallSite) -> Filter:
    udfs = _check(node, [condition], site)
    return Filter(**_same(node, site, udfs), input=node, condition=condition)


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
    _exist(node, columns, site.where)
    kept = tuple((name, schema.quoted(name)) for name in node.columns if name not in columns)
    return _project(node, kept, site)


def explode(node: Node, expression: str, name: str, site: CallSite) -> Explode:
    udfs = _check(node, [expression], site)
    columns = (*(column for column in node.columns if column != name), name)
    return Explode(
        **_same(node, site, udfs, columns=_named_well(columns, site.where)), input=node, name=name, expression=expression
    )


def apply(node: Node, function: Callable[..., Any], columns: Sequence[str] | None, site: CallSite) -> Apply:
    if not callable(function):
        raise PlanError("apply() takes a function from DataFrame to DataFrame", where=site.where)
    names = node.columns if columns is None else _named_well(tuple(columns), site.where)
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


def join(left: Node, right: Node, on: str | Sequence[str], within: Duration, how: How, site: CallSite) -> Join:
    where = site.where
    keys = (on,) if isinstance(on, str) else tuple(on)
    if not keys:
        raise PlanError(
            "join() needs the columns in which both streams are equal", where=where, fix='write join(other, on="id", …)'
        )
    _one_of("how", how, ("inner", "left", "right", "full"), where)
    for side, node in (("left", left), ("right", right)):
        _exist(node, keys, where)
        if TIME not in node.hidden:
            raise PlanError(
                f"the {side} side of the join has no time", where=where, fix="join streams, not what came of a table"
            )
        if node.lateness is None:
            raise PlanError(
                f"a join needs to know how late events can be, and {_title(node)} does not say",
                where=where,
                fix='add lateness="10 seconds" to the stream',
            )
    both = [name for name in right.columns if name in left.columns and name not in keys]
    if both:
        raise PlanError(
            f"both sides have a column called {', '.join(both)}",
            where=where,
            fix="rename or drop it on one side first, with select() or drop()",
        )
    rest = [name for name in (*left.columns, *right.columns) if name not in keys]
    return Join(
        where=where,
        columns=_named_well((*keys, *rest), where),
        hidden=(TIME,),
        key=keys,
        lateness=max(left.lateness or 0, right.lateness or 0),
        left=left,
        right=right,
        on=keys,
        within=micros(within, what="within", where=where),
        how=how,
    )


def split(node: Node, conditions: Sequence[str], site: CallSite) -> tuple[Filter, ...]:
    if not conditions:
        raise PlanError("split() needs a condition", where=site.where, fix='write big, rest = stream.split("qty > 100")')
    udfs = _check(node, conditions, site)
    # `is true` / `is not true`: an event for which a condition is null goes on to the next one, not nowhere.
    before: list[str] = []
    parts: list[str] = []
    for condition in conditions:
        parts.append(" and ".join([*before, f"(({condition}) is true)"]))
        before.append(f"(({condition}) is not true)")
    parts.append(" and ".join(before))
    return tuple(Filter(**_same(node, site, udfs), input=node, condition=part) for part in parts)


def dedupe(node: Node, columns: Sequence[str], within: Duration | None, site: CallSite) -> Dedupe:
    by = tuple(columns) or node.key
    if not by:
        raise PlanError("dedupe() needs the columns in which duplicates are equal", where=site.where, fix='write dedupe("id")')
    _exist(node, by, site.where)
    _after_table(node, "dedupe", site.where)
    if within is not None and node.lateness is None:
        raise PlanError(
            "dedupe(within=...) needs to know how late events can be",
            where=site.where,
            fix='add lateness="10 seconds" to the stream',
        )
    bound = None if within is None else micros(within, what="within", where=site.where)
    return Dedupe(**_same(node, site), input=node, by=by, within=bound)


def key_by(node: Node, columns: Sequence[str], named: Mapping[str, str], site: CallSite) -> KeyBy:
    _exist(node, columns, site.where)
    base = with_columns(node, named, site) if named else node
    key = (*columns, *named)
    if not key:
        raise PlanError("key_by() needs a column", where=site.where, fix='write key_by("symbol")')
    return KeyBy(**_same(base, site, key=key), input=base)


def checked_emit(node: Node, window: Window, emit: Emit | None, site: CallSite) -> Emit:
    where = site.where
    if not isinstance(window, Window):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(f"window() takes a window, not {window!r}", where=where, fix='write window(hr.tumbling("5 minutes"))')
    if emit is not None:
        _one_of("emit", emit, ("updates", "final"), where)
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
    _after_table(node, "an aggregate", where)
    udfs = _check(node, aggregates.values(), site)
    before = next((n for n in walk(node) if isinstance(n, Aggregate | Join)), None)
    if before is not None and (window is None or emit == "updates"):
        what = "join" if isinstance(before, Join) else "window"
        raise PlanError(
            f'only a window with emit="final" can follow the {what} at {before.where.file}:{before.where.line}',
            where=where,
            fix=f'add emit="final" here, or write the {what} to a topic with to("…") and read that topic',
        )
    extra = (*WINDOW_COLUMNS, "final") if window else ()
    for name in aggregates:
        if name in node.key or name in extra:
            raise PlanError(
                f"the aggregate {name!r} has the name of a column that is there already", where=where, fix="name it otherwise"
            )
    bounds, final = (WINDOW_COLUMNS, ("final",)) if window else ((), ())
    columns = _named_well((*node.key, *bounds, *aggregates, *final), where)
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


def _same(node: Node, site: CallSite, udfs: tuple[Udf, ...] = (), **changed: Any) -> dict[str, Any]:
    """What a node passes on from its input, but for what it changes."""
    return {
        "where": site.where,
        "udfs": udfs,
        "columns": node.columns,
        "hidden": node.hidden,
        "key": node.key,
        "kind": node.kind,
        "lateness": node.lateness,
        **changed,
    }


def _project(node: Node, items: tuple[tuple[str, str], ...], site: CallSite) -> Project:
    udfs = _check(node, [text for _, text in items], site)
    names = _named_well(tuple(name for name, _ in items), site.where)
    lost = [name for name in node.key if name not in names]
    if lost and node.kind == "table":
        raise PlanError(f"a table keeps its key: {', '.join(lost)}", where=site.where, fix="select the key's columns too")
    changed = [name for name, text in items if name in node.key and text not in (name, schema.quoted(name))]
    if changed and node.kind == "table":
        raise PlanError(
            f"a table's key can't be changed: {', '.join(changed)}", where=site.where, fix="give the column another name"
        )
    key = () if lost else node.key
    return Project(**_same(node, site, udfs, columns=names, key=key), input=node, items=items)


def _check(node: Node, texts: Iterable[str], site: CallSite) -> tuple[Udf, ...]:
    """The columns the texts name exist; the functions they name and the user's line can see are returned."""
    found: dict[str, Udf] = {}
    for text in texts:
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise PlanError(f"{text!r} is not an expression", where=site.where, fix='expressions are SQL text: "price > 10"')
        expressions.check_columns(text, node.columns, hidden=node.hidden, of=_title(node), where=site.where)
        for name in expressions.facts(text).functions:
            value = site.lookup(name)
            if isinstance(value, Udf):
                found[name] = value
    return tuple(found.values())


def _exist(node: Node, columns: Sequence[str], where: Where) -> None:
    for name in columns:
        if name not in node.columns:
            raise expressions.unknown_column(str(name), node.columns, of=_title(node), where=where)


def _named_well(names: tuple[str, ...], where: Where) -> tuple[str, ...]:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise PlanError(f"two columns would be called {name!r}", where=where, fix="name one of them otherwise")
        if name.startswith("_"):
            raise PlanError(
                f"a column can't be called {name!r}: names that begin with an underscore are Headrace's own", where=where
            )
        seen.add(name.lower())
    if not names:
        raise PlanError("no column is left", where=where)
    return names


def _after_table(node: Node, what: str, where: Where) -> None:
    if node.kind == "table":
        raise PlanError(
            f"{what} can't follow a table", where=where, fix='write the table to a topic with to("…") and read that topic'
        )


def _one_of(name: str, value: object, allowed: Sequence[str], where: Where) -> None:
    if value not in allowed:
        raise PlanError(f"{name}={value!r} is not known", where=where, fix=f"{name} is one of: {', '.join(map(repr, allowed))}")


def _title(node: Node) -> str:
    topics = [source.topic for source in walk(node) if isinstance(source, Source)]
    name = f"the stream {topics[0]!r}" if len(topics) == 1 else f"the streams {', '.join(map(repr, topics))}"
    return name if isinstance(node, Source) else f"what came of {name}"
