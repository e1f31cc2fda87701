"""The verbs that make tables and take them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.errors import PlanError
from headrace.plan import build, checks
from headrace.plan.callsite import CallSite
from headrace.plan.cuts import changing
from headrace.plan.nodes import TIME, AsTable, Changes, Node, TableAggregate

CHANGE = ("op", "before", "after")


def keys(key: str | Sequence[str], site: CallSite) -> tuple[str, ...]:
    names = (key,) if isinstance(key, str) else tuple(key)
    if not names:
        raise PlanError("a table needs a key", where=site.where, fix='write key="id"')
    return names


def as_table(node: Node, key: str | Sequence[str] | None, version: str | None, site: CallSite) -> AsTable:
    names = node.key if key is None else keys(key, site)
    if not names:
        raise PlanError("a table needs a key", where=site.where, fix='write as_table(key="id")')
    checks.exist(node, names, site.where)
    if version is not None:
        checks.exist(node, (version,), site.where)
    elif TIME not in node.hidden:
        raise PlanError("these events have no time", where=site.where, fix="name the column that says which is newer: version=")
    return AsTable(**checks.same(node, site.where, key=names, kind="table", hidden=(TIME,)), input=node, version=version)


def changes(node: Node, site: CallSite) -> Changes:
    node = changing(node, site)
    if taken := [name for name in CHANGE if name in node.key]:
        raise PlanError(
            f"the key has a column called {taken[0]!r}, which changes() adds itself",
            where=site.where,
            fix="rename the key's column",
        )
    return Changes(**checks.same(node, site.where, kind="stream", columns=(*node.key, *CHANGE)), input=node)


def aggregate(
    node: Node, by: tuple[str, ...], named: Mapping[str, str], aggregates: Mapping[str, str], site: CallSite
) -> TableAggregate:
    if not aggregates:
        raise PlanError("agg() got no aggregates", where=site.where, fix='write agg(total="sum(price)", n="count(*)")')
    node = changing(node, site)
    checks.exist(node, by, site.where)
    if named:
        node = build.with_columns(node, named, site)
    key = (*by, *named)
    udfs = checks.check(node, aggregates.values(), site)
    return TableAggregate(
        where=site.where,
        udfs=udfs,
        columns=checks.named_well((*key, *aggregates), site.where),
        hidden=(TIME,),
        key=key,
        kind="table",
        lateness=node.lateness,
        input=node,
        aggregates=tuple(aggregates.items()),
    )
