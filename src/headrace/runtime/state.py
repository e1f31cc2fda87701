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


def check(spark: SparkSession, root: str, specs: Sequence[QuerySpec]) -> list[str]:
    """Compares every checkpoint with the program, before anything starts; returns what the user should know."""
    place = f"{root}/{specs[0].app}"
    known = {name: found for name in jvm.folders(spark, place) if (found := _read(spark, f"{place}/{name}"))}
    notes: list[str] = []
    for spec in specs:
        if spec.name in known:
            _same(spec, known[spec.name], location(root, spec))
        else:
            notes += _renamed(spec, known, {spec.name for spec in specs}, place)
    return notes


def record(spark: SparkSession, root: str, specs: Sequence[QuerySpec]) -> None:
    """Writes down what each checkpoint is made for."""
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


def _renamed(spec: QuerySpec, known: dict[str, dict[str, Any]], names: set[str], place: str) -> list[str]:
    """A query without a name of its own is named after its first topic: an edit must not make it forget what it knew."""
    for name, before in known.items():
        if name in names or not set(before["writes"]) & set(spec.topics):
            continue
        if not spec.named:
            raise StateError(
                f"the topic {spec.topics[0]!r} was written by the query {name!r}, whose checkpoint would be left behind",
                where=spec.where,
                fix=f'keep its name: to(…, name="{name}"); or begin anew under a new one',
            )
        return [f"query {spec.name} begins anew; what {name} kept stays in {place}/{name}"]
    return []
