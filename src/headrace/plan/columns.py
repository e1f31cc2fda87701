"""The types of columns, as far as the plan knows them: those of a schema, until an expression makes another."""

from __future__ import annotations

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
)
from headrace.plan.sql import schema


def known(node: Node, name: str) -> str | None:
    """The type as it was declared; None where only Spark knows."""
    while True:
        match node:
            case Read():
                return next((kind for column, kind in node.fields if column.lower() == name.lower()), None)
            case Filter() | KeyBy() | Dedupe() | AsTable():
                node = node.input
            case Project():
                text = next((text for column, text in node.items if column.lower() == name.lower()), None)
                same = next((column for column in node.input.columns if text in (column, schema.quoted(column))), None)
                if same is None:
                    return None
                node, name = node.input, same
            case Explode() | Apply() | Merge() | Aggregate() | TooLate() | Join() | Changes():
                return None
            case Lookup() | TableJoin() | TableAggregate() | Cut():
                return None
