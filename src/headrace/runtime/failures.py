"""Why a query stopped: what, where in the user's program, and whether trying again can help. No Java in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from headrace.errors import BadRecord, RunError, SourceError, StateError, Where
from headrace.plan import durations, traits
from headrace.plan.nodes import Apply, Read, walk
from headrace.plan.queries import QuerySpec
from headrace.runtime.checkpoints.state import recreated, repair_command, reset_command
from headrace.spark.jvm import Failure

_BAD = re.compile(r"HEADRACE_BAD_RECORD topic=(\S+) partition=(\d+) offset=(\d+) cause=(.*?)(?: SQLSTATE: \w+)?$", re.MULTILINE)
_BAD_ROW = re.compile(r"HEADRACE_BAD_ROW (\S+) (\d+) (\d+) (.*?):(\d+) cause: (.*?)(?: SQLSTATE: \w+)?$", re.MULTILINE)
_BAD_CHANGE = re.compile(r"HEADRACE_BAD_CHANGE (.*?):(\d+) key: (.*?) cause: (.*?)(?: SQLSTATE: \w+)?$", re.MULTILINE)
_MARK = re.compile(r"HEADRACE_MARK kind=(\w+) has=(-?\d+) batch=(\d+) end=(.*)")
_WRITER = re.compile(r"HEADRACE_WRITER [^/]*/(\S+) (lasting|transient) (.*)")
_RECREATED = re.compile(r"HEADRACE_RECREATED topic=(\S+)")
_DATA = re.compile(
    r"USER_RAISED|(BINARY_)?ARITHMETIC_OVERFLOW|DATETIME_OVERFLOW|DIVIDE_BY_ZERO|CAST_|NUMERIC_VALUE|INVALID_ARRAY_INDEX"
)
"""Conditions of Spark's that are in the data: another try would not change them."""
_FORMAT = re.compile(r"HEADRACE_STATE_FORMAT found=(-?\d+) known=(-?\d+)")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`lasting` failures would only happen again."""

    error: RunError | SourceError
    lasting: bool


def judge(failure: Failure, spec: QuerySpec) -> Verdict:
    if match := _BAD.search(failure.text):
        topic, partition, offset, cause = match.groups()
        source = _source(topic, spec)
        place, look = source.source.place(topic, int(partition), int(offset))
        error = BadRecord(
            f"a record can't be decoded: {place}: {cause.strip()}",
            where=source.where,
            fix=f'{look} shows it; bad="dead" keeps such records and goes on',
        )
        return Verdict(error, lasting=True)
    if match := _BAD_ROW.search(failure.text):
        topic, partition, offset, operator, line, cause = match.groups()
        place, look = _source(topic, spec).source.place(topic, int(partition), int(offset))
        error = BadRecord(
            f"query {spec.name!r} fails on a record: {place}: {cause.strip()}",
            where=_operator(operator, int(line), spec),
            fix=f'{look} shows it; bad="dead" keeps such records and goes on',
        )
        return Verdict(error, lasting=True)
    if match := _BAD_CHANGE.search(failure.text):
        operator, line, key, cause = match.groups()
        error = RunError(
            f"query {spec.name!r} fails on the row with the key {key}: {cause.strip()}",
            where=_operator(operator, int(line), spec),
            fix="change the expression (try_divide, try_cast, … give null instead); the query goes on where it stopped",
        )
        return Verdict(error, lasting=True)
    if match := _MARK.search(failure.text):
        return Verdict(_mark(match[1], int(match[2]), int(match[3]), match[4].strip(), spec), lasting=True)
    if match := _RECREATED.search(failure.text):
        return Verdict(recreated(spec, match[1]), lasting=True)
    if failure.condition.startswith("FAILED_READ_FILE"):
        return _unreadable(failure, spec)
    if match := _WRITER.search(failure.text):
        return _writer(match[1], match[2], match[3].strip(), spec)
    if refused := failure.message("RefusedException"):
        return Verdict(RunError(f"query {spec.name!r} can't write: {refused}", where=spec.where), lasting=True)
    if any("RecordTooLarge" in name for name in failure.classes) or "RecordTooLargeException" in failure.text:
        error = RunError(
            f"query {spec.name!r}: a row is too large for its topic: {failure.sentence}",
            where=spec.where,
            fix=f"make rows smaller, or raise max.message.bytes of {', '.join(spec.topics)}",
        )
        return Verdict(error, lasting=True)
    if (
        "Incomplete log file" in failure.text
        or "CANNOT_LOAD_STATE_STORE" in failure.condition
        or any(name.endswith("ChecksumException") for name in failure.classes)
        or "HEADRACE_DAMAGED" in failure.text
    ):
        error = StateError(
            f"the checkpoint of query {spec.name!r} is damaged: {failure.sentence}",
            where=spec.where,
            fix=f"bring it back from a copy; or {repair_command(spec)}, which accepts files that are whole though their "
            f"checksum is not theirs; or start over: {reset_command(spec)}",
        )
        return Verdict(error, lasting=True)
    if match := _FORMAT.search(failure.text):
        error = StateError(
            f"the state of query {spec.name!r} has format {match[1]}, and this version of headrace knows format {match[2]}",
            where=spec.where,
            fix=f"run it with the version that wrote it; or start over: {reset_command(spec)}",
        )
        return Verdict(error, lasting=True)
    if (
        any("StateSchema" in name or "StateStoreKeySchema" in name for name in failure.classes)
        or "STATE_STORE" in failure.condition
    ):
        error = StateError(
            f"the state of query {spec.name!r} is not of this program: {failure.sentence}",
            where=spec.where,
            fix=f"undo the change; or start over: {reset_command(spec)}",
        )
        return Verdict(error, lasting=True)
    if (
        "KAFKA_DATA_LOSS" in failure.condition
        or "DATA_LOSS" in failure.condition
        or "may have been lost" in failure.text.lower()
    ):
        error = RunError(
            f"query {spec.name!r}: records it had not read yet are gone from the log: {failure.sentence}",
            where=spec.where,
            fix=f"headrace skip {spec.where.file} {spec.name}: it goes on with what is left, keeps its state, and notes the "
            "gap; to prevent the next one, lengthen the topic's retention.ms",
        )
        return Verdict(error, lasting=True)
    if (late := re.search(r"HEADRACE_LATE end=(-?\d+) watermark=(-?\d+)", failure.text)) is not None:
        return Verdict(_late(int(late[1]), int(late[2]), spec), lasting=True)
    if failure.condition.startswith("STREAMING_REAL_TIME_MODE"):
        return Verdict(_not_in_realtime(failure, spec), lasting=True)
    if "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT" in failure.condition:
        error = RunError(
            f"query {spec.name!r} does not have enough Spark slots for real-time mode: {failure.sentence}",
            where=spec.where,
            fix="give Spark more cores: every partition that is read and every one of state holds one",
        )
        return Verdict(error, lasting=False)
    user_error = failure.python is not None or bool(failure.fragments) or _DATA.match(failure.condition) is not None
    text = failure.python or re.sub(r" If necessary,? set \S+ to \S+ to bypass this error\.?", "", failure.sentence)
    what = "the function" if failure.python else "the expression (try_sum, try_divide, try_cast, … give null instead)"
    fix = f"change {what}; the query goes on where it stopped" if user_error else None
    return Verdict(RunError(f"query {spec.name!r} failed: {text}", where=_line(failure, spec), fix=fix), lasting=user_error)


def _source(topic: str, spec: QuerySpec) -> Read:
    """Whose record it is."""
    return next((each for each in spec.sources if re.fullmatch(each.source.places, topic)), spec.sources[0])


def _unreadable(failure: Failure, spec: QuerySpec) -> Verdict:
    match = re.search(r"reading file `?((?:\w+:)?/.*?)`?\. ", failure.text)
    file = match[1] if match else ""
    gone = "FILE_NOT_EXIST" in failure.condition
    error = SourceError(
        f"the file {file} vanished before it was read" if gone else f"the file {file} can't be read: {failure.sentence}",
        where=_source(file, spec).where,
        fix="put it back" if gone else "make it whole and readable, under the same name; the query goes on with it",
    )
    # Another machine may answer yet, this one's disk won't.
    return Verdict(error, lasting=file.startswith("file:"))


def _writer(sink: str, kind: str, cause: str, spec: QuerySpec) -> Verdict:
    """A user's own writer failed; what it raised says whether another try can help."""
    what, _, said = cause.partition(" fix: ")
    lasting = kind == "lasting"
    fix = said or ("change the writer; the query goes on where it stopped" if lasting else None)
    return Verdict(RunError(f"query {spec.name!r} can't write to {sink}: {what}", where=spec.line(sink), fix=fix), lasting)


def _mark(kind: str, has: int, batch: int, end: str, spec: QuerySpec) -> StateError:
    if kind in ("lost", "cut"):
        return StateError(
            f"query {spec.name!r} can't go on: {_lost(kind, has, batch, end)}",
            where=spec.where,
            fix=f"bring the newer copy back; or compute all results again: {reset_command(spec)}; "
            f"or go on without those that are missing: {repair_command(spec)}",
        )
    what = {
        "other": f"{end} holds results up to batch {has} of another checkpoint of this query: "
        "the checkpoint that wrote them was deleted, or replaced by another one",
        "back": f"{end} holds results up to batch {has}, but the checkpoint ends before batch {batch}: "
        "an older copy of the checkpoint was put in its place",
        "changed": f"{end} holds a batch {batch} of other records: an older copy of the checkpoint was put in its place",
    }[kind]
    return StateError(
        f"query {spec.name!r} can't go on: {what}",
        where=spec.where,
        fix=f"bring the right checkpoint back; or compute all results again: {reset_command(spec)}; or go on from the "
        f"checkpoint that is there, and write again what was written since: {repair_command(spec)}",
    )


def _lost(kind: str, has: int, batch: int, end: str) -> str:
    if kind == "cut":
        return (
            f"{end}, although batch {has} was confirmed there: it was deleted, restored from an older copy, or lost writes "
            "in a power cut"
        )
    holds = f"holds results up to batch {has}" if has >= 0 else "holds no results of this query"
    return (
        f"{end} {holds}, but the checkpoint says batch {batch} was confirmed there: "
        "it was restored from an older copy or lost writes"
    )


def cache_note(text: str, spec: QuerySpec) -> str:
    """What a cache lost is no reason to stop."""
    match = _MARK.search(text)
    assert match is not None
    lost = _lost(match[1], int(match[2]), int(match[3]), match[4].strip())
    return f"query {spec.name}: {lost}; its rows come back as they change, or all at once with {reset_command(spec, 'keep')}"


def _late(end: int, watermark: int, spec: QuerySpec) -> RunError:
    window = next((node for node in walk(spec.node) if traits.of(node).late == "fail"), spec)
    moment = datetime.fromtimestamp(end / 1e6, UTC).isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")
    return RunError(
        f"query {spec.name!r}: an event came {durations.text(watermark - end)} too late for its window, which ended {moment}",
        where=window.where,
        fix='write late="drop"; the query goes on where it stopped',
    )


def _not_in_realtime(failure: Failure, spec: QuerySpec) -> RunError:
    """Only what a function of apply() does is not known before: that is where it comes from."""
    operators = re.findall(r"org\.apache\.spark\.sql\.[\w.]*?(\w+?)(?:Exec)?\b(?=[, ])", failure.sentence)
    what = f"Spark's {', '.join(operators)}" if operators else failure.sentence
    apply = next((node for node in walk(spec.node) if isinstance(node, Apply)), None)
    return RunError(
        f"query {spec.name!r} can't run in real-time mode: {what}",
        where=apply.where if apply else spec.where,
        fix="do without it, or run without real-time mode",
    )


def _operator(operator: str, line: int, spec: QuerySpec) -> Where:
    """The line of the operator that a guard names."""
    lines = (node.where for node in walk(spec.node))
    return next((where for where in lines if where.line == line and operator.endswith(f" {where.file}")), spec.where)


def _line(failure: Failure, spec: QuerySpec) -> Where:
    """The verb whose text holds the fragment that Spark blames, or that uses a Python function; else where it is written."""
    nodes = walk(spec.node)
    for fragment in failure.fragments:
        for node in nodes:
            if any(fragment in text for text in traits.of(node).texts):
                return node.where
    if "ARITHMETIC_OVERFLOW" in failure.condition:
        # Only what adds up does not say where it stands.
        for node in nodes:
            if traits.of(node).keeps and any("sum" in text or "avg" in text for text in traits.of(node).texts):
                return node.where
    if failure.python is not None:
        for node in nodes:
            if any(udf.name in failure.text for udf in node.udfs):
                return node.where
    return spec.where
