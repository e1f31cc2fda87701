"""What a query did, batch by batch, in the words shown to people and programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from pyspark.sql.streaming.query import StreamingQuery

from headrace.plan.queries import QuerySpec
from headrace.spark import jvm
from headrace.spark.decode import NEWEST

Offsets = dict[tuple[str, int], int]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Batch:
    """One finished micro-batch."""

    query: str
    batch: int
    rows_in: int
    rows_out: int
    in_per_second: float
    out_per_second: float
    lag: int
    watermark: str | None
    state_rows: int
    late: int
    bad: int
    stale: int
    filtered: int
    millis: int
    held_by: str | None = None
    """The source that holds the watermark back, of several."""
    newest: dict[str, int] = field(default_factory=dict[str, int], repr=False)
    """The latest event times of the topics, in microseconds; known where there are several."""
    offsets: Offsets = field(default_factory=Offsets, repr=False)

    def json(self) -> str:
        row = asdict(self)
        row["offsets"] = [
            {"topic": topic, "partition": partition, "offset": offset} for (topic, partition), offset in self.offsets.items()
        ]
        return json.dumps(row)


@dataclass(frozen=True, slots=True)
class Total:
    """A query since it was started by this run."""

    query: str
    batches: int = 0
    rows_in: int = 0
    rows_out: int = 0
    late: int = 0
    bad: int = 0
    stale: int = 0
    filtered: int = 0
    restarts: int = 0

    def plus(self, batch: Batch) -> Total:
        return replace(
            self,
            batches=self.batches + 1,
            rows_in=self.rows_in + batch.rows_in,
            rows_out=self.rows_out + batch.rows_out,
            late=self.late + batch.late,
            bad=self.bad + batch.bad,
            stale=self.stale + batch.stale,
            filtered=self.filtered + batch.filtered,
        )


@dataclass(frozen=True, slots=True)
class Counts:
    """Of a batch: records that could not be used, rows too large for their topic, records that its conditions left out."""

    dead: int = 0
    oversized: int = 0
    filtered: int = 0


def batches(spec: QuerySpec, running: StreamingQuery, after: int, counts: Callable[[int], Counts]) -> list[Batch]:
    """The batches a query finished after the one of this number; `counts` is what is known of one besides."""
    last = running.lastProgress
    if last is None or last.batchId <= after:
        return []
    reports: list[dict[str, Any]] = [json.loads(report.json) for report in running.recentProgress]
    # An idle trigger reports too, with the number of the batch to come; only what added a batch counts.
    done = [report for report in reports if report["batchId"] > after and "addBatch" in report["durationMs"]]
    return [_batch(spec, report, jvm.late(running, report["batchId"]), counts(report["batchId"])) for report in done]


def watermark(running: StreamingQuery) -> int | None:
    """The watermark of a query that runs, in microseconds."""
    last = running.lastProgress
    text = None if last is None else _watermark(json.loads(last.json))
    return None if text is None else micros(text)


def micros(text: str) -> int:
    """A watermark as Spark's progress writes it, with its milliseconds."""
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)


def _batch(spec: QuerySpec, progress: dict[str, Any], late: int, counts: Counts) -> Batch:
    millis = int(progress.get("durationMs", {}).get("triggerExecution", 0))
    sources: list[dict[str, Any]] = progress.get("sources", [])
    states: list[dict[str, Any]] = progress.get("stateOperators", [])
    rows_out = max(int(progress.get("sink", {}).get("numOutputRows", 0)), 0) - counts.oversized
    return Batch(
        query=spec.name,
        batch=int(progress["batchId"]),
        rows_in=int(progress.get("numInputRows", 0)) // spec.scans - _observed(progress, "advances"),
        rows_out=rows_out,
        in_per_second=float(progress.get("processedRowsPerSecond") or 0.0),
        out_per_second=rows_out * 1000 / millis if millis else 0.0,
        lag=sum(_lag(source) for source in sources),
        watermark=_watermark(progress),
        state_rows=sum(int(state.get("numRowsTotal", 0)) for state in states),
        late=late + _observed(progress, "late") + sum(int(state.get("numRowsDroppedByWatermark", 0)) for state in states),
        bad=_observed(progress, "bad") + counts.dead + counts.oversized,
        stale=_observed(progress, "stale"),
        filtered=counts.filtered,
        millis=millis,
        newest=_newest(progress),
        offsets=_merged(_offsets(source.get("endOffset")) for source in sources),
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


def _observed(progress: dict[str, Any], name: str) -> int:
    observed: dict[str, dict[str, Any]] = progress.get("observedMetrics") or {}
    return sum(int(metrics.get(name) or 0) for metrics in observed.values())


def _lag(source: dict[str, Any]) -> int:
    end, latest = _offsets(source.get("endOffset")), _offsets(source.get("latestOffset"))
    metrics: dict[str, str] = source.get("metrics") or {}
    if "avgOffsetsBehindLatest" in metrics:
        # As of the batch's end; in real-time mode `latest` is as of its beginning.
        return round(float(metrics["avgOffsetsBehindLatest"]) * len(end))
    return sum(max(offset - end.get(partition, 0), 0) for partition, offset in latest.items())


def _offsets(value: Any) -> Offsets:
    """{"topic": {"0": 12}} as Kafka's source reports it; other sources report nothing of use here."""
    if isinstance(value, str):
        value = json.loads(value)
    topics: dict[str, Any] = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return {
        (topic, int(partition)): int(offset)
        for topic, partitions in topics.items()
        if isinstance(partitions, dict)
        for partition, offset in cast("dict[str, Any]", partitions).items()
    }


def _merged(all_offsets: Iterable[Offsets]) -> Offsets:
    merged: Offsets = {}
    for offsets in all_offsets:
        merged.update(offsets)
    return merged
