"""Records of the log -> rows of a stream: the user's columns and the hidden ones."""

from __future__ import annotations

from typing import cast

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace.formats.bytes import Bytes
from headrace.formats.json import Json
from headrace.plan.nodes import CLOCK_OFFSET, HEADERS, TIME, Read
from headrace.plan.sql.schema import Fields, ddl, plain
from headrace.spark import account, clocks, jvm
from headrace.spark.columns import path
from headrace.spark.encode import null_key
from headrace.spark.formats import codecs
from headrace.spark.formats.codec import BAD, refusal
from headrace.spark.tables import DELETED

ADVANCE = "advance"
NEWEST = "newest-"


def decode(
    records: DataFrame,
    source: Read,
    *,
    label: str,
    number: int,
    watermark: bool,
    now: Column | None = None,
    newest: bool = False,
    dead_letters: jvm.DeadLetters | None = None,
) -> DataFrame:
    """`records` has the columns of Spark's Kafka source, and `advance`, a time without an event, where time goes on by itself.

    `label` names the source in progress. `now` is when a record is processed; without it, when its batch began. With `newest`,
    progress says how far events are.
    `dead_letters` takes what can't be decoded, where the source has it so. `number` is that of the source in its query,
    which names what is observed: a topic can be read as several sources.
    """
    advances = ADVANCE in records.columns
    rows = records.select(
        value(records, source, advances).alias("_row"),
        (F.col("key") if isinstance(source.key_format, Bytes) else F.col("key").cast("string")).alias("_key"),
        F.col("topic").alias("_topic"),
        F.col("partition").alias("_partition"),
        F.col("offset").alias("_offset"),
        F.col("timestamp").alias("_timestamp"),
        *([F.col("timestampType").alias(clocks.TIMESTAMP_TYPE)] if source.by_log else []),
        *([F.col("headers").alias(HEADERS)] if HEADERS in source.hidden else []),
        *([F.col("value").isNull().alias(DELETED)] if source.kind == "table" else []),
        *([F.col(ADVANCE)] if advances else []),
    )
    clocked = clocks.clocked(source, F.current_timestamp() if now is None else now)
    time = clocked.time
    if source.kind == "table":
        # A delete has no columns, so no time of its own.
        time = F.coalesce(time, F.col("_timestamp"))
    bad = F.col(f"_row.{BAD}")
    if clocked.cause is not None:
        cause = F.when(bad.isNull() & (~F.col(DELETED) if source.kind == "table" else F.lit(True)), clocked.cause)
        cause = F.when(F.col(ADVANCE).isNull(), cause) if advances else cause
        if source.bad == "fail":
            cause = F.when(cause.isNotNull(), F.raise_error(refusal(cause, "_")).cast("string"))
        # Once under a name: a bad record's time must not move the watermark.
        rows = rows.select("*", F.coalesce(bad, cause).alias("_cause"))
        bad, time = F.col("_cause"), F.when(F.col("_cause").isNull(), time)
    if advances:
        time = F.coalesce(F.col(ADVANCE), time)
    rows = rows.select("*", time.alias(TIME), *([clocked.offset.alias(CLOCK_OFFSET)] if clocked.offset is not None else []))
    if watermark and source.lateness is not None:
        rows = rows.withWatermark(TIME, f"{source.lateness // 1000} milliseconds")
    if advances:
        # An observation keeps the optimizer from moving the filter below the watermark, where no advance would arrive.
        rows = rows.observe(f"advances-{number}", F.count_if(F.col(ADVANCE).isNotNull()).alias("advances")).where(
            F.col(ADVANCE).isNull()
        )
    rows = account.read(rows)
    # Asked of every row, whatever columns are used: a decoder that nobody asks is pruned away, and its refusals with it.
    if source.bad == "dead" and dead_letters is not None:
        rows = rows.where(_good(dead_letters, source, bad))
    else:
        rows = account.skipped(rows, bad)
    if source.kind == "table":
        # Each is the newest row of its key, or out of date, which the table finds out.
        rows = account.taken(rows)
    if newest and source.lateness is not None:
        # As a number: progress writes a timestamp without its fraction of a second.
        rows = rows.observe(f"{NEWEST}{number}-{label}", F.unix_micros(F.max(TIME)).alias("newest"))
    columns = [F.col(path("_row", name)).alias(name) for name in source.columns]
    place = ("_topic", "_partition", "_offset", "_timestamp", DELETED) if source.kind == "table" else ()
    return rows.select(*columns, *account.hidden(source), *place)


def _good(dead_letters: jvm.DeadLetters, source: Read, cause: Column) -> Column:
    return dead_letters.good(f"decode {source.label}", cause, F.col("_topic"), F.col("_partition"), F.col("_offset"))


def fields_of(type: StructType) -> Fields:
    """As a source declares them."""
    return tuple((field.name, field.dataType.simpleString()) for field in type.fields)


def value(records: DataFrame, source: Read, advances: bool = False) -> Column:
    """The decoded record: a struct of the source's columns and `_bad`, why it could not be decoded."""
    row = _row(records, source)
    if source.kind == "table":
        row = F.when(F.col("value").isNull(), _delete(source)).otherwise(row)
    return F.when(F.col(ADVANCE).isNull(), row) if advances else row


def _delete(source: Read) -> Column:
    """A record without a value: its key, as the columns of the key, says which row is no more."""
    text = F.col("key").cast("string")
    kinds = {name: plain(kind) for name, kind in source.fields}
    parsed = F.from_json(text, ddl(tuple((name, kinds[name]) for name in source.key)))
    key: dict[str, Column] = {}
    # One column may stand alone, as text.
    alone = len(source.key) == 1 and not isinstance(source.key_format, Json)
    for name in source.key:
        key[name] = parsed.getField(name)
        if alone:
            cell = F.expr(f"try_cast(cast(key as string) as {kinds[name]})")
            key[name] = cell if kinds[name] == "string" else F.coalesce(cell, key[name])
        if source.origin is not None:
            key[name] = F.when(text != null_key(source.key), key[name])
    missing = F.lit(False)
    for value in key.values() if source.origin is None else ():
        missing = missing | value.isNull()
    bad = F.when(missing, F.lit(f"no value, and a key that is not {', '.join(source.key)}: it deletes nothing"))
    if source.bad == "fail":
        bad = F.when(bad.isNotNull(), F.raise_error(refusal(bad)).cast("string"))
    fields = [key.get(name, F.lit(None)).cast(kinds[name]).alias(name) for name, _ in source.fields]
    return F.struct(*fields, bad.alias(BAD))


def _row(records: DataFrame, source: Read) -> Column:
    needed = {
        *(source.key if source.origin is None else ()),
        *clocks.columns(source),
        *([source.version] if source.version else []),
    }
    schema = cast("StructType", StructType.fromDDL(ddl(source.fields)))
    for name in needed:
        # Without its time an event has no place in a stream, without its key a row none in a table: it is a bad record.
        schema[name].nullable = False
    return codecs.of(source.format).decode(records, schema, fail=source.bad == "fail")
