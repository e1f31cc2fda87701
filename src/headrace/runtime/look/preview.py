"""stream.preview() and table.preview(): rows computed from the newest records of the sources."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow
import pyarrow.compute

from headrace.errors import Where
from headrace.plan.nodes import Node, Write
from headrace.plan.queries import queries
from headrace.runtime.look.sample import Sample
from headrace.runtime.look.visit import visiting
from headrace.spark import frames
from headrace.spark.tables import DELETED

_ARROW: Any = pyarrow
_COMPUTE: Any = pyarrow.compute


def preview(app: str, node: Node, where: Where, records: int, flags: Mapping[str, Any]) -> Any:
    """Returns a pandas DataFrame."""
    # Dead letters and functions are found by the names of queries, so these must be unique.
    name = f"preview-{uuid.uuid4().hex[:8]}"
    write = Write(node=node, to=name, name=name, named=True, where=where)
    specs = [replace(spec, name=f"{name}-{number}") for number, spec in enumerate(queries(app, [write], where))]
    (spec,) = (spec for spec in specs if name in spec.writes)
    with visiting(name, flags) as (spark, connection, config), Sample(spark, connection, config, specs, records) as sample:
        found: Any = _ARROW.concat_tables(sample.rows(spec))
        dead = [record for each in specs for record in sample.dead(each)]
    if dead:
        # The user's line: stream.preview(), app._preview(), here.
        first = f"{dead[0].id}: {dead[0].cause}"
        warnings.warn(f"{len(dead):,} records can't be used and are left out; the first is {first}\n  at {where}", stacklevel=4)
    return frames.to_pandas(_newest(found, node) if node.kind == "table" else found)


def _newest(rows: Any, node: Node) -> Any:
    """The last of a table's updates for each key, which are in order; without deleted rows."""
    keys: list[Any] = rows.select(list(node.key)).to_pylist() if node.key else [{}] * rows.num_rows
    last = {repr(key): number for number, key in enumerate(keys)}
    newest = rows.take(_ARROW.array(sorted(last.values()), _ARROW.int64()))
    if DELETED in newest.column_names:
        newest = newest.filter(_COMPUTE.invert(newest[DELETED])).drop_columns([DELETED])
    return newest
