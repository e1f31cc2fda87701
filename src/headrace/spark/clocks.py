"""An event's time, as a column: from what its record says, by the clock of its stream."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from headrace.plan import durations
from headrace.plan.clocks import Device, Moment, Ours
from headrace.plan.nodes import LOG_TIME, Read
from headrace.plan.sql.schema import plain
from headrace.spark.columns import path

_MICROS = {"seconds": 1_000_000, "millis": 1_000, "micros": 1}
TIMESTAMP_TYPE = "_timestamp_type"
_APPENDED = 1
_ZONED = r"(?i)(z|[+-]\d\d:?\d\d|\[.+\])$"


@dataclass(frozen=True, slots=True)
class Clocked:
    """A record's time; why it can't be believed, if that can happen; how wrong the device's clock was, in seconds."""

    time: Column
    cause: Column | None = None
    offset: Column | None = None


def columns(source: Read) -> tuple[str, ...]:
    """The columns that an event's time is made of; without one of them it is a bad record."""
    match source.clock:
        case Moment(column):
            return (column,)
        case Device():
            moments = (source.clock.occurred, source.clock.sent, source.clock.received)
            return tuple(moment.column for moment in moments if moment is not None)
        case _:
            return ()


def clocked(source: Read, now: Column) -> Clocked:
    """Over the record's columns: `_row`, `_timestamp` and, for a source by the log's clock, `_timestamp_type`."""
    causes: list[Column] = []
    offset = None
    match source.clock:
        case Moment():
            time = _moment(source, source.clock, causes)
        case Device():
            time, offset = _device(source, source.clock, causes)
        case Ours.PROCESSING:
            time = now
        case Ours.LOG | Ours.APPEND:
            time = F.col(LOG_TIME)
    if source.by_log:
        # Of the topic's earlier days, perhaps: what is set for it now holds for what is appended now.
        causes.append(F.when(F.col(TIMESTAMP_TYPE) != _APPENDED, F.lit("its timestamp is its producer's, not the log's")))
    if source.max_ahead is not None:
        ahead = F.unix_micros(time) - F.unix_micros(now)
        said = f" ahead of now, which is more than {durations.text(source.max_ahead)}"
        causes.append(F.when(ahead > source.max_ahead, F.concat(_seconds(ahead), F.lit(said))))
    return Clocked(time, F.coalesce(*causes) if causes else None, offset)


def _moment(source: Read, moment: Moment, causes: list[Column]) -> Column:
    value, kind = F.col(path("_row", moment.column)), plain(dict(source.fields).get(moment.column, "timestamp"))
    if moment.unit is not None:
        return F.timestamp_micros(F.round(value * _MICROS[moment.unit]).cast("bigint"))
    if kind != "string":
        return value
    time = F.try_to_timestamp(value)
    if moment.zone != "UTC":
        time = F.when(value.rlike(_ZONED), time).otherwise(F.to_utc_timestamp(time, moment.zone))
    causes.append(F.when(time.isNull(), F.concat(F.lit(f"the time {moment.column} is "), value)))
    return time


def _device(source: Read, clock: Device, causes: list[Column]) -> tuple[Column, Column]:
    occurred, sent = _moment(source, clock.occurred, causes), _moment(source, clock.sent, causes)
    received = F.col(LOG_TIME) if clock.received is None else _moment(source, clock.received, causes)
    skew = F.unix_micros(received) - F.unix_micros(sent)
    if clock.max_skew is not None:
        said = f" of difference between the clocks, which is more than {durations.text(clock.max_skew)}"
        causes.append(F.when(F.abs(skew) > clock.max_skew, F.concat(_seconds(skew), F.lit(said))))
    return F.timestamp_micros(F.unix_micros(occurred) + skew), skew / 1e6


def _seconds(micros: Column) -> Column:
    return F.concat((micros / 1e6).cast("decimal(20,3)").cast("string"), F.lit(" seconds"))
