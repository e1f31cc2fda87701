"""Whose checkpoint is it? Beside each one stands what it was made for; a program that differs is refused, not misread."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from headrace.errors import StateError
from headrace.plan.queries import QuerySpec
from headrace.spark import jvm

_FILE = "headrace.json"


def location(root: str, spec: QuerySpec) -> str:
    return f"{root.rstrip('/')}/{spec.app}/{spec.name}"


def check(spark: SparkSession, root: str, specs: Sequence[QuerySpec]) -> None:
    """Compares every checkpoint with the program before anything starts, then writes down what the program is."""
    app = specs[0].app
    known = {name: found for name in jvm.folders(spark, f"{root}/{app}") if (found := _read(spark, f"{root}/{app}/{name}"))}
    for spec in specs:
        if spec.name in known:
            _same(spec, known[spec.name], location(root, spec))
        else:
            _not_renamed(spec, known, {spec.name for spec in specs})
    for spec in specs:
        jvm.write_text(spark, f"{location(root, spec)}/{_FILE}", json.dumps(_manifest(spec), indent=2))


def _manifest(spec: QuerySpec) -> dict[str, Any]:
    return {"reads": [source.topic for source in spec.sources], "keeps": list(spec.state), "writes": list(spec.topics)}


def _read(spark: SparkSession, place: str) -> dict[str, Any] | None:
    text = jvm.read_text(spark, f"{place}/{_FILE}")
    return json.loads(text) if text else None


def _same(spec: QuerySpec, before: dict[str, Any], place: str) -> None:
    now = _manifest(spec)
    for part in ("reads", "keeps"):
        if before[part] != now[part]:
            raise StateError(
                f"query {spec.name!r} has a checkpoint that {part} other things\n"
                f"  was: {'; '.join(before[part]) or 'nothing'}\n  now: {'; '.join(now[part]) or 'nothing'}",
                where=spec.where,
                fix=f'undo the change, begin anew under another name (to(…, name="{spec.name}-2")), or delete {place}',
            )


def _not_renamed(spec: QuerySpec, known: dict[str, dict[str, Any]], names: set[str]) -> None:
    for name, before in known.items():
        if name not in names and set(before["writes"]) & set(spec.topics) and before["keeps"] == list(spec.state):
            raise StateError(
                f"the topic {spec.topics[0]!r} was written by the query {name!r}, whose checkpoint would be left behind",
                where=spec.where,
                fix=f'keep its name: to(…, name="{name}")',
            )
