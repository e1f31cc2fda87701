"""Aggregates and windows: on Spark's own operators where it has them, else on the kernel's.

A window is a group by its end. Spark closes a group when the watermark passes a grouping column that is marked as event time;
the mark is column metadata, so any column can carry it. That gives every window with fixed bounds, those with gaps too, in
one plain timestamp column instead of a struct. What is late for a window is dropped before, by a gate that counts it (kernel:
time), because Spark counts what is left after a first aggregation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, LongType, StructField, StructType

from headrace.plan import traits
from headrace.plan.nodes import TIME, Aggregate, TooLate, walk
from headrace.plan.windows import Every, Window
from headrace.spark import account, jvm
from headrace.spark.columns import column, path

if TYPE_CHECKING:
    from headrace.spark.tables import Kernel

_MARK = "spark.watermarkDelayMs"
_START, _END = "_window_start", "_window_end"
_SESSION = "_session"
_BOUNDS = [
    StructField("start", LongType(), False),
    StructField("end", LongType(), False),
    StructField("final", BooleanType(), False),
]


def timed(column: Column, lateness: int, name: str = TIME) -> Column:
    """The column, marked as event time."""
    # Spark waits for whole milliseconds; rounded up, it never waits for less than it was asked to.
    return column.alias(name, metadata={_MARK: -(-lateness // 1000)})


def untimed(frame: DataFrame) -> DataFrame:
    """With the mark on `_time` alone. A copy inherits it, and Spark's operators refuse a second column that has it."""
    marked = [field.name for field in frame.schema if field.name != TIME and _MARK in field.metadata]
    return frame.withColumns({name: _copied(column(name)) for name in marked}) if marked else frame


def _copied(time: Column) -> Column:
    """Computed, because the optimizer would see through an alias and bring the mark back."""
    return F.timestamp_micros(F.unix_micros(time))


def aggregate(node: Aggregate, frame: DataFrame, aggregates: Sequence[Column], kernel: Kernel) -> DataFrame:
    """`aggregates` are those of the node, over the columns of the frame."""
    if not node.native:
        return _by_kernel(node, frame, aggregates, kernel)
    keys = [column(name) for name in node.input.key]
    names = [column(name) for name, _ in node.aggregates]
    if node.window is None:
        groups = (account.taken(frame) if traits.of_record(node.input) else frame).groupBy(*keys).agg(*aggregates)
        kernel.native(node, frame, node.input.key, jvm.aggregate_types(groups))
        return groups
    window = node.window
    if window.kind == "session":
        frame = _gated(node, frame, F.unix_micros(TIME) + window.size)
        groups = frame.groupBy(*keys, F.session_window(TIME, _micros(window.size)).alias(_SESSION)).agg(*aggregates)
        start, end = F.col(f"{_SESSION}.start"), F.col(f"{_SESSION}.end")
    else:
        frame = _assigned(window, frame, fresh=traits.of_record(node.input))
        frame = _gated(node, frame, F.unix_micros(_END))
        end = F.col(_END)
        others = [column(name) for name in frame.columns if name not in (_START, _END)]
        if node.lateness is not None:
            end = timed(end, node.lateness, _END)
        groups = frame.select(*others, _START, end) if window.unit else frame.select(*others, end)
        # The start of a window of the calendar is no fixed time before its end.
        groups = groups.groupBy(*keys, _END, *((_START,) if window.unit else ())).agg(*aggregates)
        end = F.col(_END)
        start = F.col(_START) if window.unit else F.timestamp_micros(F.unix_micros(end) - window.size)
    kernel.native(node, frame, node.input.key, jvm.aggregate_types(groups))
    final = node.emit == "final"
    bounds = start.alias("window_start"), _copied(end).alias("window_end")
    result = groups.select(*keys, *bounds, *names, F.lit(final).alias("final"))
    if not final:
        return result
    # As Spark's own window_time(): the last moment inside of the window.
    return result.select("*", timed(F.timestamp_micros(F.unix_micros("window_end") - 1), node.lateness or 0))


def too_late(node: TooLate, frame: DataFrame) -> DataFrame:
    """Once for each window that was closed, with how long before."""
    frame = _assigned(node.window, frame)
    closed, end = jvm.watermark(frame.sparkSession), F.unix_micros(_END)
    rows = frame.select("*", closed.alias("_closed")).where(end <= F.col("_closed"))
    if node.window.kind == "cumulating":
        rows = _further(node.window, rows).where(end <= F.col("_closed"))
    taken = [column(name) for name in node.input.columns]
    by = (F.col("_closed") - end) / 1e6
    return rows.select(*taken, F.col(_START).alias("window_start"), F.col(_END).alias("window_end"), by.alias("late_by"), TIME)


def _further(window: Window, frame: DataFrame) -> DataFrame:
    """Of cumulating windows the first that an event is in -> all of them."""
    _, last = _period(window)
    ends = F.array_union(
        F.sequence(F.unix_micros(_END), F.unix_micros(last), F.lit(window.every)), F.array(F.unix_micros(last))
    )
    others = [column(name) for name in frame.columns if name != _END]
    return frame.select(*others, F.explode(F.transform(ends, F.timestamp_micros)).alias(_END))


def _gated(node: Aggregate, frame: DataFrame, end: Column) -> DataFrame:
    """Without the rows whose window is closed. What a join gives may be older than the watermark; there Spark alone knows."""
    fresh = traits.of_record(node.input)
    if node.lateness is None or _joined(node):
        return account.taken(frame) if fresh else frame
    passes = jvm.still_open(frame.sparkSession, end, fails=node.late == "fail")
    return account.open_to(frame, passes) if fresh else frame.where(passes)


def _joined(node: Aggregate) -> bool:
    return any(traits.of(below).overdue for below in walk(node.input))


def _assigned(window: Window, frame: DataFrame, *, fresh: bool = False) -> DataFrame:
    """A row for each window that an event is in, with the window's start and end."""
    match window.kind:
        case "session":
            # The one it would have alone.
            start, end = _copied(F.col(TIME)), _later(F.col(TIME), window.size)
        case "sliding":
            start, end = _later(F.col(TIME), -window.size), _copied(F.col(TIME))
        case "calendar":
            start, end = _calendar(window)
        case "cumulating":
            begins, ends = _period(window)
            into = F.unix_micros(TIME) - F.unix_micros(begins)
            # The first of those that it is in.
            step = _later(begins, (F.floor(into / window.every) + 1).cast("bigint") * window.every)
            start, end = begins, F.least(step, ends)
        case _ if window.every < window.size:
            slices = F.window(TIME, _micros(window.size), _micros(window.every), _micros(window.offset % window.every))
            frame = frame.select("*", slices.alias("_window"))
            start, end = F.col("_window.start"), F.col("_window.end")
        case _:
            start, end = _fixed(window.size, window.every, window.offset)
            if window.every > window.size:
                inside = _into(window.every, window.offset) < window.size
                frame = account.filtered(frame, inside) if fresh else frame.where(inside)
    others = [column(name) for name in frame.columns if name != "_window"]
    return frame.select(*others, start.alias(_START), end.alias(_END))


def _period(window: Window) -> tuple[Column, Column]:
    """Of cumulating windows: when the first begins and the last ends."""
    return _calendar(window) if window.unit else _fixed(window.size, window.size, window.offset)


def _fixed(size: int, every: int, offset: int) -> tuple[Column, Column]:
    start = F.unix_micros(TIME) - _into(every, offset)
    return F.timestamp_micros(start), F.timestamp_micros(start + size)


def _calendar(window: Window) -> tuple[Column, Column]:
    """By the wall clock of the zone: a day has 23 or 25 hours when the clocks change."""
    shift = F.make_dt_interval(secs=F.lit(window.offset / 1e6).cast("decimal(18,6)"))
    local = F.date_trunc(cast("str", window.unit), F.from_utc_timestamp(TIME, window.zone) - shift)
    next = F.make_interval(**{f"{window.unit}s": F.lit(1)})
    return F.to_utc_timestamp(local + shift, window.zone), F.to_utc_timestamp(local + next + shift, window.zone)


def _later(time: Column, micros: int | Column) -> Column:
    return F.timestamp_micros(F.unix_micros(time) + micros)


def _into(every: int, offset: int) -> Column:
    """How far into its period an event is; right before 1970 too."""
    return F.pmod(F.unix_micros(TIME) - offset, F.lit(every))


def _micros(value: int) -> str:
    return f"{value} microseconds"


def _by_kernel(node: Aggregate, frame: DataFrame, aggregates: Sequence[Column], kernel: Kernel) -> DataFrame:
    window = node.window
    assert window is not None
    spark = frame.sparkSession
    if traits.of_record(node.input):
        # Before the kernel's operator, which leaves out what is late and counts it by window.
        gaps = window.kind == "hopping" and window.every > window.size
        inside = _into(window.every, window.offset) < window.size if gaps else None
        frame = account.timed(frame, F.unix_micros(_last_end(window)), inside)
    if node.late == "fail":
        frame = _failing(node, window, frame)
    split = jvm.Split(frame, aggregates) if window.kind == "sliding" else jvm.Aggregates(frame, aggregates)
    arguments = F.struct(*(argument.alias(f"a{i}") for i, argument in enumerate(split.arguments)))
    closed = F.lit(jvm.NO_VERSION) if _joined(node) else jvm.watermark(spark)
    blocks = kernel.events(frame, node.input.key, F.unix_micros(TIME), closed, arguments)
    kernel.layouts.append(split.type.simpleString())
    if isinstance(split, jvm.Split):
        out = jvm.sliding(blocks, split, size=window.size, emit=str(node.emit), mode=kernel.mode)
    else:
        tick = node.emit.interval if isinstance(node.emit, Every) else 0
        emit = "every" if tick else str(node.emit)
        out = jvm.windows(blocks, split, window, emit=emit, tick=tick, mode=kernel.mode)
    key = cast("StructType", frame.select(kernel.key(node.input.key).alias("key")).schema["key"].dataType)
    bounds = StructType([*_BOUNDS, *split.type.fields])
    pair = jvm.pair(key, bounds)
    rows = kernel.rows(out, pair, pair, pairs=True).select(
        F.coalesce(F.col("after"), F.col("before")).alias("_row"), F.col("after").isNull().alias("_deleted"), F.col("time")
    )
    opened = rows.select("*", *(F.col(path("_row", "right", name)).alias(name) for name in split.type.fieldNames()))
    results = [result.alias(name) for result, (name, _) in zip(split.results, node.aggregates, strict=True)]
    columns = [
        *(F.col(path("_row", "left", name)).alias(name) for name in node.input.key),
        *(F.timestamp_micros(path("_row", "right", name)).alias(f"window_{name}") for name in ("start", "end")),
        *results,
        F.col(path("_row", "right", "final")).alias("final"),
    ]
    if node.kind == "table":
        return opened.select(*columns, "_deleted")
    # A row of a stream is what was known then: nothing takes it back.
    return opened.where("not _deleted").select(*columns, timed(F.timestamp_micros("time"), node.lateness or 0))


def _last_end(window: Window) -> Column:
    """Of the windows that an event is in, when the last one ends."""
    match window.kind:
        case "session":
            return _later(F.col(TIME), window.size)
        case "sliding":
            return F.col(TIME)
        case "calendar" | "cumulating":
            return _period(window)[1]
        case _:
            return _fixed(window.size, window.every, window.offset)[1]


def _failing(node: Aggregate, window: Window, frame: DataFrame) -> DataFrame:
    """The kernel leaves out what is late and counts it; here it must not come so far."""
    names = frame.columns
    checked = _assigned(window, frame) if window.every >= window.size else _first(window, frame)
    return _gated(node, checked, F.unix_micros(_END)).select(*map(column, names))


def _first(window: Window, frame: DataFrame) -> DataFrame:
    """With the end of the first window that an event is in."""
    into = F.pmod(F.unix_micros(TIME) - window.offset - window.size, F.lit(window.every))
    return frame.select("*", F.timestamp_micros(F.unix_micros(TIME) - into + window.every).alias(_END))
