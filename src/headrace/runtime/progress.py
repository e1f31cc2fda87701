"""What a query did, batch by batch, in the words shown to people and programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from headrace.plan.queries import QuerySpec
from headrace.spark import jvm
from headrace.spark.decode import NEWEST
from headrace.spark.read import inputs
from headrace.spark.read.input import Positions

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What became of the records that came in, each of which counts once: rows_in = taken + filtered + late + bad.

    The rest counts rows, of what was taken.
    """

    rows_in: int = 0
    taken: int = 0
    filtered: int = 0
    late: int = 0
    bad: int = 0
    rows_out: int = 0
    late_rows: int = 0
    stale: int = 0
    duplicates: int = 0
    dead_rows: int = 0

    @property
    def missing(self) -> int:
        """How many records nobody can account for: 0."""
        return self.rows_in - self.taken - self.filtered - self.late - self.bad

    @property
    def left_out(self) -> dict[str, int]:
        """What did not go on, as far as there is any, in the words shown to people."""
        names = ("filtered", "late", "late_rows", "bad", "stale", "duplicates", "dead_rows")
        counts = {name.replace("_", " "): int(getattr(self, name)) for name in names if getattr(self, name)}
        # By window it is of interest where it differs.
        return {name: count for name, count in counts.items() if name != "late rows" or count != self.late}

    @property
    def problem(self) -> str | None:
        """Why the account does not close, if it does not."""
        sums = f"{self.taken} taken + {self.filtered} filtered + {self.late} late + {self.bad} bad"
        return f"{self.rows_in} in, but {sums}" if self.missing else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Account):
    """One finished micro-batch."""

    query: str
    batch: int
    in_per_second: float
    out_per_second: float
    lag: int
    watermark: str | None
    state_rows: int
    millis: int
    held_by: str | None = None
    """The source that holds the watermark back, of several."""
    newest: dict[str, int] = field(default_factory=dict[str, int], repr=False)
    """The latest event times of the topics, in microseconds; known where there are several."""
    offsets: Positions = field(default_factory=Positions, repr=False)

    def json(self) -> str:
        row = asdict(self)
        row["offsets"] = [
            {"topic": topic, "partition": partition, "offset": offset} for (topic, partition), offset in self.offsets.items()
        ]
        return json.dumps(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Total(Account):
    """A query since it was started by this run."""

    query: str
    batches: int = 0
    restarts: int = 0

    def plus(self, batch: Batch) -> Total:
        sums = {count.name: getattr(self, count.name) + getattr(batch, count.name) for count in fields(Account)}
        return replace(self, batches=self.batches + 1, **sums)


def batches(spec: QuerySpec, running: StreamingQuery, after: int, oversized: Callable[[int], int]) -> list[Batch]:
    """The batches a query finished after the one of this number; `oversized` knows how many rows of one were too large."""
    last = running.lastProgress
    if last is None or last.batchId <= after:
        return []
    reports: list[dict[str, Any]] = [json.loads(report.json) for report in running.recentProgress]
    # An idle trigger reports too, with the number of the batch to come; only what added a batch counts.
    done = [report for report in reports if report["batchId"] > after and "addBatch" in report["durationMs"]]
    return [_batch(spec, running, report, oversized(report["batchId"])) for report in done]


def watermark(running: StreamingQuery) -> int | None:
    """The watermark of a query that runs, in microseconds."""
    last = running.lastProgress
    text = None if last is None else _watermark(json.loads(last.json))
    return None if text is None else micros(text)


def micros(text: str) -> int:
    """A watermark as Spark's progress writes it, with its milliseconds."""
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)


def _batch(spec: QuerySpec, running: StreamingQuery, progress: dict[str, Any], oversized: int) -> Batch:
    number = int(progress["batchId"])
    account = jvm.account(running, number)
    millis = int(progress.get("durationMs", {}).get("triggerExecution", 0))
    sources: list[dict[str, Any]] = progress.get("sources", [])
    states: list[dict[str, Any]] = progress.get("stateOperators", [])
    dropped = sum(_metric(state, "numRowsDroppedByWatermark") for state in states)
    return Batch(
        query=spec.name,
        batch=number,
        rows_in=account.read,
        taken=account.taken,
        filtered=account.filtered,
        late=account.late,
        bad=account.bad,
        rows_out=account.emitted,
        late_rows=jvm.late(running, number) + _observed(progress, "late") + dropped,
        stale=_observed(progress, "stale"),
        duplicates=sum(_metric(state.get("customMetrics") or {}, "numDroppedDuplicateRows") for state in states),
        dead_rows=oversized + account.bad_earlier,
        in_per_second=account.read * 1000 / millis if millis else 0.0,
        out_per_second=account.emitted * 1000 / millis if millis else 0.0,
        lag=sum(map(inputs.lag, sources)),
        watermark=_watermark(progress),
        state_rows=sum(_metric(state, "numRowsTotal") for state in states),
        millis=millis,
        newest=_newest(progress),
        offsets=_merged(inputs.positions(source.get("endOffset")) for source in sources),
    )


def _watermark(progress: dict[str, Any]) -> str | None:
    watermark = progress.get("eventTime", {}).get("watermark")
    return None if watermark is None or watermark.startswith("1970-01-01T00:00:00.000") else watermark


def _newest(progress: dict[str, Any]) -> dict[str, int]:
    observed: dict[str, dict[str, Any]] = progress.get("observedMetrics") or {}
    newest: dict[str, int] = {}
    for name, metrics in observed.items():
        if name.startswith(NEWEST) and (time := metrics.get("newest")) is not None:
            label = name.removeprefix(NEWEST).partition("-")[2]
            newest[label] = max(newest.get(label, 0), int(time))
    return newest


def _metric(of: dict[str, Any], name: str) -> int:
    return int(of.get(name) or 0)


def _observed(progress: dict[str, Any], name: str) -> int:
    observed: dict[str, dict[str, Any]] = progress.get("observedMetrics") or {}
    return sum(int(metrics.get(name) or 0) for metrics in observed.values())


def _merged(found: Iterable[Positions]) -> Positions:
    merged: Positions = {}
    for positions in found:
        merged.update(positions)
    return merged
