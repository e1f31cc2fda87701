"""The three joins: of streams, of a stream with a table, of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from headrace.errors import PlanError
from headrace.plan import checks, silence
from headrace.plan.callsite import CallSite
from headrace.plan.cuts import apart, changing
from headrace.plan.durations import Duration, micros
from headrace.plan.nodes import LOG_TIME, TIME, AsOf, Cut, How, Join, Lookup, Node, Pairs, Read, TableJoin, query

On = str | Sequence[str] | Mapping[str, str]
VERSION = "version"


def streams(left: Node, right: Node, on: On, within: Duration | None, how: How, site: CallSite) -> Join:
    where = site.where
    if within is None:
        raise PlanError(
            "a join of two streams needs to know how far apart events may be", where=where, fix='add within="10 minutes"'
        )
    if isinstance(on, Mapping):
        raise PlanError(
            "streams are joined on columns of the same name", where=where, fix="rename the column on one side with select()"
        )
    keys = tuple(name for name, _ in _pairs(left, right, on, site))
    checks.one_of("how", how, ("inner", "left", "right", "full"), where)
    for side, node in (("left", left), ("right", right)):
        if TIME not in node.hidden:
            raise PlanError(
                f"the {side} side of the join has no time", where=where, fix="join the streams before one becomes a table"
            )
        _lateness(node, site)
    rest = [name for name in left.columns if name not in keys] + _rest(left, right, keys, site)
    left, right = apart((left, right), site, _silence(left, right))
    return Join(
        where=where,
        columns=checks.named_well((*keys, *rest), where),
        hidden=(TIME,),
        key=keys,
        lateness=max(left.lateness or 0, right.lateness or 0),
        left=left,
        right=right,
        on=keys,
        within=micros(within, what="within", where=where),
        how=how,
    )


def no_table_options(site: CallSite, **options: object) -> None:
    """Refuses, for a join of two streams, what only a join with a table can do."""
    if given := next((name for name, value in options.items() if value is not None), None):
        raise PlanError(
            f"{given}= is for a join with a table, and this is a join of two streams",
            where=site.where,
            fix=f"leave {given}= out, or make the other stream a table: other.as_table(key=…)",
        )


def lookup(
    stream: Node,
    table: Node,
    on: On,
    how: How,
    site: CallSite,
    *,
    as_of: AsOf | None,
    history: Duration | None,
    with_version: bool,
) -> Lookup:
    where = site.where
    as_of = "arrival" if as_of is None else as_of
    checks.one_of("how", how, ("inner", "left"), where)
    checks.one_of("as_of", as_of, ("arrival", "event_time"), where)
    if history is not None and as_of == "arrival":
        raise PlanError(
            "history= keeps the versions of a table's rows, and a join as of arrival needs only the newest",
            where=where,
            fix='add as_of="event_time", or leave history= out',
        )
    table = changing(table, site)
    pairs = _pairs(stream, table, on, site)
    found = tuple(name for _, name in pairs)
    if set(found) != set(table.key):
        raise PlanError(
            f"a stream is joined with a table on the table's key, which is {', '.join(table.key)}, not {', '.join(found)}",
            where=where,
            fix=f"write on={_example(table.key)}, or make a table with that key",
        )
    if TIME not in stream.hidden:
        raise PlanError("these events have no time", where=where, fix="join a stream that has one")
    if as_of == "event_time":
        _lateness(stream, site)
        # A table that is computed follows the clocks of all tables it is computed from.
        for part in query(table):
            if isinstance(part, Read | Cut):
                _lateness(part, site)
    # In the order of the table's key, which is the order of its state.
    pairs = tuple((next(mine for mine, theirs in pairs if theirs == name), name) for name in table.key)
    columns = (*stream.columns, *_rest(stream, table, found, site), *((VERSION,) if with_version else ()))
    stream, table = apart((stream, table), site, *([_silence(stream, table)] if as_of == "event_time" else []))
    return Lookup(
        where=where,
        columns=checks.named_well(columns, where),
        hidden=tuple(name for name in (TIME, LOG_TIME) if name in stream.hidden),
        key=stream.key,
        lateness=stream.lateness,
        stream=stream,
        table=table,
        on=pairs,
        how=how,
        as_of=as_of,
        history=micros("1 hour" if history is None else history, what="history", where=where, zero=True),
        with_version=with_version,
    )


def of_tables(left: Node, right: Node, on: On, how: How, site: CallSite) -> TableJoin:
    where = site.where
    checks.one_of("how", how, ("inner", "left", "full"), where)
    left, right = changing(left, site), changing(right, site)
    pairs = _pairs(left, right, on, site)
    mine, theirs = tuple(name for name, _ in pairs), tuple(name for _, name in pairs)
    by: Literal["key", "left", "both"]
    if set(theirs) == set(right.key) and set(mine) == set(left.key):
        by, key = "key", mine
    elif set(theirs) == set(right.key) and how != "full":
        by, key = "left", left.key
    else:
        # A column of the right's key that is joined on is there under the left's name.
        by, key = "both", (*left.key, *(dict(zip(theirs, mine, strict=True)).get(name, name) for name in right.key))
    columns = (*left.columns, *_rest(left, right, theirs, site))
    left, right = apart((left, right), site)
    return TableJoin(
        where=where,
        columns=checks.named_well(columns, where),
        hidden=(TIME,),
        key=tuple(dict.fromkeys(key)),
        kind="table",
        lateness=left.lateness if right.lateness is None else max(left.lateness or 0, right.lateness),
        left=left,
        right=right,
        on=pairs,
        how=how,
        by=by,
    )


def _pairs(left: Node, right: Node, on: On, site: CallSite) -> Pairs:
    names = {on: on} if isinstance(on, str) else dict(on) if isinstance(on, Mapping) else {name: name for name in on}
    if not names:
        raise PlanError("join() needs the columns to join on", where=site.where, fix='write join(other, on="id", …)')
    checks.exist(left, tuple(names), site.where)
    checks.exist(right, tuple(names.values()), site.where)
    return tuple(names.items())


def _rest(left: Node, right: Node, joined: Sequence[str], site: CallSite) -> list[str]:
    """The right's columns besides those it is joined on; none of them may have the name of one of the left's."""
    rest = [name for name in right.columns if name not in joined]
    if both := [name for name in rest if name in left.columns]:
        raise PlanError(
            f"both sides have a column called {', '.join(both)}",
            where=site.where,
            fix="rename or drop it on one side first, with select() or drop()",
        )
    return rest


def _silence(left: Node, right: Node) -> int | None:
    return silence.longest((silence.of(left), silence.of(right)))


def _lateness(node: Node, site: CallSite) -> None:
    if node.lateness is None:
        raise PlanError(
            f"this join needs to know how late events can be, and {checks.title(node)} does not say",
            where=site.where,
            fix=f'add lateness="10 seconds" to the {node.kind}',
        )


def _example(key: Sequence[str]) -> str:
    return f'"{key[0]}"' if len(key) == 1 else "(" + ", ".join(f'"{name}"' for name in key) + ")"
