"""Whose checkpoint is it? Beside each one stands what it was made for; a program that differs is refused, not misread."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from headrace.errors import StateError
from headrace.plan.clocks import Ours, clock_text
from headrace.plan.nodes import Read
from headrace.plan.queries import QuerySpec
from headrace.spark import storage
from headrace.spark.session import STATE

Layouts = Mapping[str, tuple[Sequence[str], Sequence[str]]]
"""What each query keeps, which is more than the plan knows: the types of what the kernel's operators keep, and Spark's own."""

_FILE = "headrace.json"
_RESET = "reset"
_PARTS = ("reads", "keeps", "layout", "writes", "topics")


def repair_command(spec: QuerySpec) -> str:
    return f"headrace repair {spec.where.file} {spec.name}"


def reset_command(spec: QuerySpec, output: str = "delete") -> str:
    return f"headrace reset {spec.where.file} {spec.name} --output {output}"


def location(root: str, spec: QuerySpec) -> str:
    return f"{root.rstrip('/')}/{spec.app}/{spec.name}"


def check(
    spark: SparkSession, root: str, specs: Sequence[QuerySpec], layouts: Layouts, topic_ids: Mapping[str, str]
) -> list[str]:
    """Compares every checkpoint with the program, before anything starts; returns what the user should know."""
    place = f"{root.rstrip('/')}/{specs[0].app}"
    for spec in specs:
        if storage.read_text(spark, f"{location(root, spec)}/{_RESET}") is not None:
            raise StateError(
                f"a reset of query {spec.name!r} was interrupted", where=spec.where, fix=f"finish it: {reset_command(spec)}"
            )
    commands = {spec.name: reset_command(spec) for spec in specs}
    known = {name: _read(spark, f"{place}/{name}", commands.get(name)) for name in storage.folders(spark, place)}
    known = {name: found for name, found in known.items() if found is not None}
    notes: list[str] = []
    settings = {name: spark.conf.get(name) for name in STATE}
    for spec in specs:
        _same_files(spark, spec, location(root, spec))
        if (before := known.get(spec.name)) is not None:
            _same_settings(spec, before.get("settings") or {}, settings)
            _same(spec, before, _manifest(spec, layouts, topic_ids))
            if added := [to for to in spec.writes if to not in before["writes"]]:
                notes.append(
                    f"query {spec.name} writes to {', '.join(added)} from now on; what it wrote elsewhere before is not there\n"
                    f"  to have all of it there, stop it and type: {reset_command(spec)}"
                )
        else:
            notes += _renamed(spec, known, {spec.name for spec in specs}, place)
    return notes


def record(spark: SparkSession, root: str, specs: Sequence[QuerySpec], layouts: Layouts, topic_ids: Mapping[str, str]) -> None:
    """Writes down what each checkpoint is made for, if that is not there yet."""
    for spec in specs:
        place, now = location(root, spec), _manifest(spec, layouts, topic_ids)
        now["settings"] = {name: spark.conf.get(name) for name in STATE}
        if _read(spark, place) != now:
            storage.write_text(spark, f"{place}/{_FILE}", json.dumps(now, indent=2))


def forget_marks(spark: SparkSession, root: str, spec: QuerySpec) -> None:
    """The checkpoint takes whatever topic of marks it finds next."""
    place = location(root, spec)
    if (known := _read(spark, place)) is not None:
        storage.write_text(spark, f"{place}/{_FILE}", json.dumps({**known, "marks": ""}, indent=2))


def begin_reset(spark: SparkSession, root: str, spec: QuerySpec) -> None:
    """From now on only a reset may touch the checkpoint."""
    storage.write_text(spark, f"{location(root, spec)}/{_RESET}", "this query is being reset\n")


def end_reset(spark: SparkSession, root: str, spec: QuerySpec) -> None:
    storage.delete(spark, location(root, spec), but=_RESET)


def disown(spark: SparkSession, root: str, spec: QuerySpec, names: Collection[str]) -> None:
    """What `spec` writes to is empty now: queries that the program no longer has wrote nothing that is still there."""
    place = f"{root.rstrip('/')}/{spec.app}"
    for name in set(storage.folders(spark, place)) - set(names):
        known = _read(spark, f"{place}/{name}")
        if known is not None and set(known["writes"]) & set(spec.writes):
            known["writes"] = [to for to in known["writes"] if to not in spec.writes]
            storage.write_text(spark, f"{place}/{name}/{_FILE}", json.dumps(known, indent=2))


def _manifest(spec: QuerySpec, layouts: Layouts, topic_ids: Mapping[str, str]) -> dict[str, Any]:
    return {
        "reads": [f"{source.source.identity}{_clock(source, spec)}" for source in spec.sources],
        "keeps": list(spec.state),
        "layout": list(layouts[spec.name][0]),
        "types": list(layouts[spec.name][1]),
        "writes": list(spec.writes),
        "topics": {topic: id for topic, id in topic_ids.items() if spec.reads(topic)},
        "marks": topic_ids.get(spec.marks, ""),
    }


def _clock(source: Read, spec: QuerySpec) -> str:
    """What it says of a source's time, and whether time goes on there without events."""
    time = "" if source.clock in (Ours.LOG, Ours.APPEND) else f" (time {clock_text(source.clock)})"
    return time + (" and the clock" if spec.paced else "") + (", again for what is late" if spec.late else "")


def _read(spark: SparkSession, place: str, anew: str | None = None) -> dict[str, Any] | None:
    """`anew` is the command that starts over, if the program has such a query."""
    text = storage.read_text(spark, f"{place}/{_FILE}")
    if text is None and "offsets" not in storage.folders(spark, place):
        return None
    try:
        found: dict[str, Any] = json.loads(text or "")
        if all(isinstance(found[part], dict if part == "topics" else list) for part in _PARTS):
            return found
    except (ValueError, KeyError, TypeError):
        pass
    raise StateError(
        f"the checkpoint {place} does not say what it was made for: {_FILE} is missing or damaged",
        fix=f"bring the file back from a copy; or start over: {anew}" if anew else f"no query needs it: delete {place}",
    )


def _same_files(spark: SparkSession, spec: QuerySpec, place: str) -> None:
    """Spark's sink of files passes over the batches that the folder has: one that does not fit would lose rows."""
    for sink in spec.spark_writers:
        has, done = storage.last_number(spark, f"{sink.path}/_spark_metadata"), storage.last_number(spark, f"{place}/commits")
        if done <= has <= done + 1:
            continue
        holds = f"{sink.path} holds files up to batch {has}" if has >= 0 else f"{sink.path} holds no files of this query"
        why = (
            f"the checkpoint ends before batch {done + 1}: it is an older copy or a new one, or another query wrote there"
            if has > done
            else f"the checkpoint says batch {done} was confirmed there: it was deleted or restored from an older copy"
        )
        raise StateError(
            f"query {spec.name!r} can't go on: {holds}, but {why}",
            where=spec.where,
            fix=f"bring back what is missing; or compute all results again: {reset_command(spec)}",
        )


def _same_settings(spec: QuerySpec, before: Mapping[str, str], now: Mapping[str, str | None]) -> None:
    for name, value in before.items():
        if now.get(name, value) != value:
            raise StateError(
                f"query {spec.name!r} has a checkpoint that was written with {name}={value}, and now it is {now[name]}",
                where=spec.where,
                fix=f"set it back; or start over: {reset_command(spec)}",
            )


def _same(spec: QuerySpec, before: dict[str, Any], now: dict[str, Any]) -> None:
    for part, verb in (("reads", "reads"), ("keeps", "keeps"), ("types", "keeps"), ("layout", "keeps")):
        # A checkpoint of an earlier version lacks the types.
        if before.get(part, now[part]) != now[part]:
            raise StateError(
                f"query {spec.name!r} has a checkpoint that {verb} other things\n"
                f"  was: {'; '.join(before[part]) or 'nothing'}\n  now: {'; '.join(now[part]) or 'nothing'}",
                where=spec.where,
                fix=f"undo the change; or start over: {reset_command(spec)}; or keep both, with another topic and name: "
                f'to("…", name="{spec.name}-2")',
            )
    if before.get("marks") and before["marks"] != now["marks"]:
        raise recreated(spec, spec.marks)
    for topic, id in before["topics"].items():
        if now["topics"].get(topic, id) != id:
            raise recreated(spec, topic)


def recreated(spec: QuerySpec, topic: str) -> StateError:
    """A topic of the query was deleted, and created again."""
    if topic == spec.marks:
        return StateError(
            f"the topic {topic!r}, where query {spec.name!r} notes what it has written, is gone or is another one",
            where=spec.where,
            fix=f"{repair_command(spec)}: it goes on, and may write its last batch again",
        )
    if topic in spec.all_topics:
        return StateError(
            f"the topic {topic!r} is not the one that query {spec.name!r} has written: it was deleted and created again, "
            "and what was in it is gone",
            where=spec.where,
            fix=f"write it all again: {reset_command(spec)}",
        )
    source = next((source for source in spec.sources if source.source.reads(topic)), None)
    return StateError(
        f"the topic {topic!r} is not the one that query {spec.name!r} has read: it was deleted and created again",
        where=source.where if source else spec.where,
        fix=f"start over: {reset_command(spec)}; with --output keep its results of the old topic stay",
    )


def _renamed(spec: QuerySpec, known: Mapping[str, dict[str, Any]], names: set[str], place: str) -> list[str]:
    """A query without a name of its own is named after its first topic: an edit must not make it forget what it knew."""
    for name, before in known.items():
        shared = [to for to in spec.writes if to in before["writes"]]
        if name in names or not shared:
            continue
        if not spec.named:
            raise StateError(
                f"{shared[0]!r} was written by the query {name!r}, whose checkpoint would be left behind",
                where=spec.where,
                fix=f'keep its name: to(…, name="{name}"); or start over under a new one',
            )
        left = (
            "keys that it does not produce any more stay there" if spec.node.kind == "table" else "its results are there twice"
        )
        return [
            f"query {spec.name} starts over and writes to {', '.join(shared)}, where the results of {name} are: {left}\n"
            f"  to have only its own results there, stop it and type: {reset_command(spec)}\n"
            f"  what {name} kept stays in {place}/{name}"
        ]
    return []
