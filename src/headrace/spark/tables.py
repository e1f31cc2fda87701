"""Tables on the kernel's operators.

Between operators a table is a frame of changes, one row a change: structs `_row_key`, `_before` and `_after`, and numbers
`_at` and `_before_at` (when the row and the one before it came, in microseconds), `_version` and `_sequence`. Verbs act on the
rows before and after. An operator gets its changes as blocks of bytes (kernel: Gather, Scatter): it knows nothing of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, DoubleType, FloatType, IntegralType, StructType, TimestampType

from headrace.errors import PlanError
from headrace.plan import traits
from headrace.plan.nodes import (
    LOG_TIME,
    TIME,
    AsTable,
    Changes,
    Filter,
    Lookup,
    Node,
    Pairs,
    Project,
    Read,
    TableAggregate,
    TableJoin,
)
from headrace.plan.traits import StepSize
from headrace.spark import jvm, windows
from headrace.spark.account import PLACE
from headrace.spark.columns import column, path
from headrace.spark.guard import Guard

Mode = Literal["append", "update"]
KEY, BEFORE, AFTER, AT, BEFORE_AT = "_row_key", "_before", "_after", "_at", "_before_at"
VERSION, SEQUENCE, ARRIVED = "_version", "_sequence", "_arrived"
DELETED = "_deleted"
_REST = (AT, BEFORE_AT, VERSION, SEQUENCE)
_LEFT, _RIGHT = 0, 1
_KEY_AFTER, _ROW_AFTER = 1, 8
_LEFT_OUT = {"stale": "80", "bad": "81", "late": "82"}
"""What a block that is no changes begins with, as the kernel's Operator says it."""


@dataclass(frozen=True, slots=True)
class Table:
    """Changes. Raw ones are upserts and deletes as they came, with no row before; `versioned` ones may be out of date.

    Raw ones also have `_arrived`, when they came into the log, and where, if they are records.
    """

    frame: DataFrame
    raw: bool = False
    versioned: bool = False
    null_keys: bool = False

    def type(self, side: str = AFTER) -> StructType:
        return cast("StructType", self.frame.schema[side].dataType)


@dataclass(frozen=True, slots=True)
class Kernel:
    """How operators are called in one query. `layouts` collects what their state looks like, `types` that of Spark's own. With
    `places`, the sequence of a change tells records apart, whatever partition they are in.
    """

    mode: Mode
    at_once: bool = False
    places: bool = False
    layouts: list[str] = field(default_factory=list[str])
    types: list[str] = field(default_factory=list[str])

    def native(self, node: Node, frame: DataFrame, key: Sequence[str], rest: Sequence[str] = ()) -> None:
        """Spark's own operator keeps something by these columns."""
        columns = [f"{name} {frame.schema[name].dataType.simpleString()}" for name in key]
        self.types.append(f"{traits.state(node)}: {', '.join([*columns, *rest])}")

    def blocks(self, table: Table, key: Callable[[str], Column], row: Callable[[str], Column], side: int) -> DataFrame:
        """The changes, gathered by a key that is made of the row before and of the row after."""
        return self.gather(table.frame, _changed(table, key, row, side))

    def gather(self, frame: DataFrame, *events: list[Column]) -> DataFrame:
        """Of each row, one event or two: columns as `_changed` or `_happened` makes them."""
        columns = frame.select(
            *(column.alias(f"c{i}") for i, column in enumerate(column for each in events for column in each))
        )
        for i in (place + len(each) * n for n, each in enumerate(events) for place in (0, _KEY_AFTER)):
            columns = columns.withColumn(f"c{i}", _normal(F.col(f"c{i}"), cast("StructType", columns.schema[i].dataType)))
        for i in range(len(events)):
            for place in (_KEY_AFTER, _ROW_AFTER):
                self.layouts.append(columns.schema[len(events[0]) * i + place].dataType.simpleString())
        return jvm.gather(columns, at_once=self.at_once)

    def events(self, frame: DataFrame, key: Sequence[str], time: Column, version: Column, row: Column) -> DataFrame:
        """Events by their key."""
        return self.gather(frame, _happened(F.lit(True), self.key(key), time, row, version))

    @staticmethod
    def key(names: Sequence[str]) -> Column:
        return _struct({name: column(name) for name in names})

    def rows(self, blocks: DataFrame, before: StructType, after: StructType, *, pairs: bool = False) -> DataFrame:
        """What an operator emitted, row by row, without the blocks in which it reports what it left out; those are counted."""
        # As many layouts as there are operators' inputs so far: a number for each operator.
        name = f"left-out-{len(self.layouts)}"
        # Taken before it is counted: Spark copies a whole block for each look at it, but not where it comes from the operator.
        kind, many = F.hex(F.substring("block", 1, 1)), F.conv(F.hex(F.substring("block", 2, 4)), 16, 10).cast("bigint")
        reports = blocks.select("block", kind.alias("kind"), F.when(kind >= _LEFT_OUT["stale"], many).alias("many"))
        counts = [
            F.coalesce(F.sum(F.when(F.col("kind") == code, F.col("many"))), F.lit(0)).alias(what)
            for what, code in _LEFT_OUT.items()
        ]
        return jvm.scatter(reports.observe(name, *counts), before, after, pairs=pairs, at_once=self.at_once)

    def changes(
        self, out: DataFrame, node: Node, type: StructType, opened: Callable[[DataFrame], DataFrame] | None = None
    ) -> Table:
        """What an operator emitted, as changes again: rows of this type or, with `opened`, pairs from which rows come."""
        frame = self.rows(out, type, type, pairs=opened is not None).select(
            F.col("before").alias(BEFORE),
            F.col("after").alias(AFTER),
            F.col("time").alias(AT),
            F.col("before_time").alias(BEFORE_AT),
            F.coalesce(F.col("version"), F.lit(jvm.NO_VERSION)).alias(VERSION),
            F.col("sequence").alias(SEQUENCE),
        )
        frame = frame if opened is None else opened(frame)
        return Table(frame.select(_key(node.key).alias(KEY), BEFORE, AFTER, *_REST))


def _normal(key: Column, type: StructType) -> Column:
    """Keys are compared as bytes: of the numbers that are equal and look different there is one."""
    if not any(isinstance(part.dataType, DoubleType | FloatType) for part in type.fields):
        return key

    def cell(name: str, real: bool) -> Column:
        value = key.getField(name)
        same = F.when(F.isnan(value), F.lit(float("nan"))).otherwise(value + F.lit(0.0)).cast(type[name].dataType)
        return (same if real else value).alias(name)

    cells = [cell(part.name, isinstance(part.dataType, DoubleType | FloatType)) for part in type.fields]
    return F.when(key.isNotNull(), F.struct(*cells))


def _changed(
    table: Table, key: Callable[[str], Column], row: Callable[[str], Column], side: int, time: str = AT
) -> list[Column]:
    """What the kernel's Gather takes of a change. Where both keys are null there is none."""
    now = F.col(AFTER).isNotNull()
    if table.raw:
        was, before, after = F.lit(False), key(KEY), F.when(F.col(KEY).isNotNull(), key(KEY))
    else:
        was, before, after = F.col(BEFORE).isNotNull(), key(BEFORE), F.when(now, key(AFTER))
    return [
        F.when(was, before),
        after,
        F.lit(side),
        F.col(time),
        *map(F.col, _REST[1:]),
        F.when(was, row(AFTER if table.raw else BEFORE)),
        F.when(now, row(AFTER)),
    ]


def _happened(inside: Column, key: Column, time: Column, row: Column, version: Column | None = None) -> list[Column]:
    """The same of an event; `inside` says whether there is one."""
    zero, never = F.lit(0).cast("bigint"), F.lit(False)
    version = zero if version is None else version
    # Rather than without a key it is without a side: a struct that may be null is made on the heap first.
    return [F.when(never, key), key, F.when(inside, F.lit(_LEFT)), time, zero, version, zero, F.when(never, row), row]


def upserts(frame: DataFrame, node: Read | AsTable, also: Sequence[Column] = (), *, places: bool = False) -> Table:
    """Flat rows as the newest rows of their keys; where `_deleted` is true, the key has none any more."""
    deleted = F.col(DELETED) if DELETED in frame.columns else F.lit(False)
    key = _struct({name: column(name) for name in node.key})
    row = F.when(~deleted, F.struct(*map(column, node.columns)))
    at = F.unix_micros(TIME)
    offset = F.col("_offset") if "_offset" in frame.columns else None
    if node.version is not None:
        version = _number(frame, node.version, node)
        # Without its version a row has no place in the table, like one without its key. A topic's are bad records already.
        known = version.isNotNull() | deleted
        key = _struct({name: F.when(known, column(name)) for name in node.key}) if isinstance(node, AsTable) else key
    elif isinstance(node, Read):
        assert offset is not None
        version = offset
    else:
        version = at
    changes = frame.select(
        *also,
        *(name for name in PLACE if name in frame.columns),
        key.alias(KEY),
        row.alias(AFTER),
        at.alias(AT),
        F.lit(0).cast("bigint").alias(BEFORE_AT),
        F.when(deleted, F.lit(jvm.NO_VERSION)).otherwise(version).cast("bigint").alias(VERSION),
        (version if offset is None else _place(offset) if places else offset).cast("bigint").alias(SEQUENCE),
        (F.unix_micros("_timestamp") if "_timestamp" in frame.columns else at).alias(ARRIVED),
    )
    internal = isinstance(node, Read) and node.origin is not None
    return Table(changes, raw=True, versioned=isinstance(node, AsTable) or node.version is not None, null_keys=internal)


def _place(offset: Column) -> Column:
    """In the order of a partition; records of others are other numbers, as far as 16 bits can tell them apart."""
    return F.shiftleft(offset, 16) + F.pmod(F.hash(F.col("_topic"), F.col("_partition")), F.lit(1 << 16))


def filter(node: Filter, table: Table, guard: Guard) -> Table:
    def kept(opened: DataFrame, side: str) -> tuple[DataFrame, Column]:
        condition = F.when(F.col(side).isNotNull(), F.expr(node.condition))
        rows, (holds,) = guard.expressions(opened, [condition], node.udfs)
        return rows, F.when(holds, F.col(side))

    return _each(table, kept)


def project(node: Project, table: Table, guard: Guard) -> Table:
    def made(opened: DataFrame, side: str) -> tuple[DataFrame, Column]:
        there = F.col(side).isNotNull()
        rows, cells = guard.expressions(opened, [F.when(there, F.expr(text)) for _, text in node.items], node.udfs)
        return rows, F.when(there, F.struct(*(cell.alias(name) for cell, (name, _) in zip(cells, node.items, strict=True))))

    return _each(table, made)


def newest(table: Table, node: Node, kernel: Kernel, steps: StepSize) -> Table:
    """Changes that know the row before them, none out of date or changing nothing; of a key one a step."""
    blocks = kernel.blocks(table, F.col, F.col, _LEFT)
    if steps == "moment":
        out = jvm.timeline(blocks, null_keys=table.null_keys, mode=kernel.mode)
    else:
        out = jvm.newest(blocks, remember=table.versioned, null_keys=table.null_keys, steps=steps, mode=kernel.mode)
    return kernel.changes(out, node, table.type())


def changes(node: Changes, table: Table) -> DataFrame:
    """Of a table that is followed record by record: the time of a change is that of the record, which is its version there."""
    op = F.when(F.col(BEFORE).isNull(), F.lit("insert")).when(F.col(AFTER).isNull(), F.lit("delete")).otherwise(F.lit("update"))
    key = [F.col(path(KEY, name)).alias(name) for name in node.key]
    time = windows.timed(F.timestamp_micros(VERSION), node.lateness or 0)
    return table.frame.where(_differ(table)).select(
        *key, op.alias("op"), F.col(BEFORE).alias("before"), F.col(AFTER).alias("after"), time
    )


def flat(node: Node, table: Table) -> DataFrame:
    """The rows that a topic gets: the columns, and `_deleted`; of a deleted row only the key's."""
    columns = [F.col(path(KEY if name in node.key else AFTER, name)).alias(name) for name in node.columns]
    return table.frame.where(_differ(table)).select(*columns, F.col(AFTER).isNull().alias(DELETED))


def lookup(node: Lookup, stream: DataFrame, table: Table, kernel: Kernel, inside: Column | None = None) -> DataFrame:
    """With `inside`, the frames of both sides are one: of its rows some are events, some changes, some both."""
    same_types(node.on, stream.schema, table.type(KEY), node)
    row = F.struct(*map(column, node.stream.columns), *node.hidden)
    key = F.struct(*(column(mine).alias(theirs) for mine, theirs in node.on))
    arrival = node.as_of == "arrival"
    arrived = LOG_TIME if arrival and LOG_TIME in node.stream.hidden else TIME
    events = _happened(F.lit(True) if inside is None else inside, key, F.unix_micros(arrived), row)
    changes = _changed(
        table,
        lambda side: F.struct(*(F.col(path(side, name)).alias(name) for _, name in node.on)),
        F.col,
        _RIGHT,
        (ARRIVED if table.raw else AT) if arrival else (AT if table.raw else SEQUENCE),
    )
    if inside is None:
        blocks = kernel.gather(stream, events).union(kernel.gather(table.frame, changes))
    else:
        blocks = kernel.gather(stream, events, changes)
    outer, counting = node.how == "left", table.raw and not table.null_keys
    if arrival:
        out = jvm.lookup(blocks, outer=outer, versioned=counting, remember=table.versioned, mode=kernel.mode)
    else:
        out = jvm.as_of(blocks, outer=outer, history=node.history, counting=counting, computed=not table.raw, mode=kernel.mode)
    event = cast("StructType", stream.select(row.alias("row")).schema["row"].dataType)
    joined = kernel.rows(out, event, table.type()).select(
        F.col("before").alias("_left"), F.col("after").alias("_right"), F.col("version")
    )
    taken = [
        F.col(path("_left", name)).alias(name)
        if name in node.stream.columns
        else F.col("version")
        if name == "version" and node.with_version
        else F.col(path("_right", name)).alias(name)
        for name in node.columns
    ]
    others = [F.col(path("_left", name)).alias(name) for name in node.hidden if name != TIME]
    return joined.select(*taken, windows.timed(F.col(path("_left", TIME)), node.lateness or 0), *others)


def same_types(on: Pairs, left: StructType, right: StructType, node: Node) -> None:
    """Spark would convert one side, and fail on the first value that can't be."""
    for mine, theirs in on:
        one, other = left[mine].dataType.simpleString(), right[theirs].dataType.simpleString()
        if one != other:
            raise PlanError(
                f"the join's column {mine!r} is {one} on the left and {theirs!r} is {other} on the right",
                where=node.where,
                fix=f'declare both alike in the schema, or bring one to the type of the other: "cast({mine} as {other})"',
            )


def _each(table: Table, change: Callable[[DataFrame, str], tuple[DataFrame, Column]]) -> Table:
    """Changes the row before and the row after, each with its fields as columns; what is then no change is left out."""
    frame = table.frame
    for side, at in ((AFTER, AT),) if table.raw else ((BEFORE, BEFORE_AT), (AFTER, AT)):
        fields = cast("StructType", frame.schema[side].dataType).fieldNames()
        opened = frame.select(
            "*", *(F.col(path(side, name)).alias(name) for name in fields), F.timestamp_micros(at).alias(TIME)
        )
        kept = [name for name in frame.columns if name != side]
        rows, changed = change(opened, side)
        frame = rows.select(*kept, changed.alias(side))
    # A row that stays the same with another time is a change for what goes by time, and is left out where the table ends.
    made = replace(table, frame=frame)
    return made if table.raw else replace(made, frame=frame.where(_differ(made) | _retimed()))


def _differ(table: Table) -> Column:
    """Maps can't be compared; with one, a change counts as one."""
    if "map<" in table.type().simpleString():
        return F.col(BEFORE).isNotNull() | F.col(AFTER).isNotNull()
    return ~F.col(BEFORE).eqNullSafe(F.col(AFTER))


def _retimed() -> Column:
    return F.col(BEFORE).isNotNull() & F.col(AFTER).isNotNull() & (F.col(AT) != F.col(BEFORE_AT))


def has_key(names: Sequence[str]) -> Column:
    """Of raw changes: null where a row is no change at all."""
    return F.when(F.col(KEY).isNotNull(), all_known(F.col(path(KEY, name)) for name in names))


def all_known(values: Iterable[Column]) -> Column:
    known = F.lit(True)
    for value in values:
        known &= value.isNotNull()
    return known


def _key(names: Sequence[str]) -> Column:
    return _struct({name: F.coalesce(F.col(path(AFTER, name)), F.col(path(BEFORE, name))) for name in names})


def _struct(columns: Mapping[str, Column]) -> Column:
    """A key. A table without one has one row."""
    return F.struct(*(value.alias(name) for name, value in (columns or {"all": F.lit(0)}).items()))


def _number(frame: DataFrame, name: str, node: Read | AsTable) -> Column:
    match kind := frame.schema[name].dataType:
        case TimestampType():
            return F.unix_micros(column(name))
        case DateType():
            return F.unix_date(column(name)).cast("bigint")
        case IntegralType():
            return column(name).cast("bigint")
        case _:
            raise PlanError(
                f"the version column {name!r} is a {kind.simpleString()}",
                where=node.where,
                fix="a version is a whole number, a timestamp or a date",
            )


def join(node: TableJoin, left: Table, right: Table, kernel: Kernel, steps: StepSize) -> Table:
    """A side that is joined on its own key may be raw."""
    same_types(node.on, left.type(), right.type(), node)

    def side(table: Table, of: Node, on: Sequence[str], number: int) -> DataFrame:
        def own(row: str) -> Column:
            return F.struct(F.struct(*(F.col(path(row, name)) for name in of.key)).alias("key"), F.col(row).alias("row"))

        return kernel.blocks(
            table,
            lambda row: F.struct(*(F.col(path(row, name)).alias(f"k{i}") for i, name in enumerate(on))),
            F.col if table.raw else own,
            number,
        )

    blocks = side(left, node.left, [mine for mine, _ in node.on], _LEFT).union(
        side(right, node.right, [theirs for _, theirs in node.on], _RIGHT)
    )
    out = jvm.table_join(
        blocks,
        left=node.how in ("left", "full"),
        right=node.how == "full",
        by=node.by,
        sides=(_side(left), _side(right)),
        steps=steps,
        mode=kernel.mode,
    )
    theirs = dict(node.on)

    def cell(pair: str, name: str) -> Column:
        if name not in node.left.columns:
            return F.col(path(pair, "right", name))
        mine = F.col(path(pair, "left", name))
        return F.coalesce(mine, F.col(path(pair, "right", theirs[name]))) if name in theirs and node.how == "full" else mine

    def opened(frame: DataFrame) -> DataFrame:
        kept = [name for name in frame.columns if name not in (BEFORE, AFTER)]
        rows = [
            F.when(F.col(pair).isNotNull(), F.struct(*(cell(pair, name).alias(name) for name in node.columns))).alias(pair)
            for pair in (BEFORE, AFTER)
        ]
        return frame.select(*kept, *rows)

    joined = kernel.changes(out, node, jvm.pair(left.type(), right.type()), opened)
    if node.by == "key":
        return joined
    blocks = kernel.blocks(joined, lambda row: F.struct(*(F.col(path(row, name)) for name in node.key)), F.col, _LEFT)
    return kernel.changes(jvm.settle(blocks, steps=steps, mode=kernel.mode), node, joined.type())


def _side(table: Table) -> str:
    if not table.raw:
        return "CHANGES"
    return "VERSIONED_UPSERTS" if table.versioned else "UPSERTS"


def aggregate(node: TableAggregate, table: Table, kernel: Kernel, steps: StepSize) -> Table:
    expressions = [F.expr(text).alias(name) for name, text in node.aggregates]
    splits: list[jvm.Split] = []

    def split(opened: DataFrame, side: str) -> tuple[DataFrame, Column]:
        splits.append(jvm.Split(opened, expressions))
        arguments = F.struct(*(column.alias(f"a{i}") for i, column in enumerate(splits[-1].arguments)))
        key = _struct({name: column(name) for name in node.key})
        return opened, F.when(F.col(side).isNotNull(), F.struct(key.alias("key"), arguments.alias("arguments")))

    groups = _each(table, split)
    blocks = kernel.blocks(groups, lambda row: F.col(path(row, "key")), lambda row: F.col(path(row, "arguments")), _LEFT)
    out = jvm.table_aggregate(blocks, splits[0], whole=not node.key, steps=steps, mode=kernel.mode)
    key = cast("StructType", groups.type()["key"].dataType)
    kernel.layouts.append(splits[0].type.simpleString())

    def opened(frame: DataFrame) -> DataFrame:
        for side in (BEFORE, AFTER):
            kept = [name for name in frame.columns if name != side]
            fields = frame.select("*", *(F.col(path(side, "right", name)).alias(name) for name in splits[0].type.fieldNames()))
            named = [F.col(path(side, "left", name)).alias(name) for name in node.key]
            results = [result.alias(name) for result, (name, _) in zip(splits[0].results, node.aggregates, strict=True)]
            frame = fields.select(*kept, F.when(F.col(side).isNotNull(), F.struct(*named, *results)).alias(side))
        return frame

    return kernel.changes(out, node, jvm.pair(key, splits[0].type), opened)
