"""A plan -> a DataFrame: one fold, one match. What Spark refuses is told at the user's line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace import extras
from headrace.errors import PlanError
from headrace.plan.nodes import (
    TIME,
    Aggregate,
    Apply,
    AsTable,
    Changes,
    Cut,
    Dedupe,
    Explode,
    Filter,
    Join,
    KeyBy,
    Lookup,
    Merge,
    Node,
    Project,
    Read,
    TableAggregate,
    TableJoin,
    TooLate,
    inputs,
    walk,
)
from headrace.plan.queries import QuerySpec
from headrace.spark import account, encode, holdable, joins, jvm, lanes, tables, windows
from headrace.spark.columns import column
from headrace.spark.decode import ADVANCE, decode, fields_of
from headrace.spark.encode import Encoding
from headrace.spark.guard import Guard
from headrace.spark.tables import Kernel, StepSize, Table

Reader = Callable[[Read], DataFrame]
_POSITION = "_position"


@dataclass(frozen=True)
class Compiled:
    """The rows a query gives, those that came too late for it, and what its operators' state looks like."""

    spec: QuerySpec
    rows: DataFrame
    lates: tuple[DataFrame, ...]
    layouts: tuple[str, ...]
    types: tuple[str, ...]
    """Those of Spark's own operators."""
    letters: jvm.DeadLetters | None
    """What can't be decoded, batch by batch."""

    @cached_property
    def records(self) -> DataFrame:
        """Key, value and topic, for a sink that knows topics only; what goes elsewhere has a topic of that name."""
        found = encode.records(self.rows, Encoding.of(self.spec, self.spec), self.spec.writes[: len(self.spec.to)])
        for late, write in zip(self.lates, self.spec.late, strict=True):
            found = found.union(encode.records(late, Encoding.of(write, self.spec), (write.label,)))
        return found

    @property
    def lines(self) -> DataFrame:
        """For the kernel's sink."""
        row = self.row if self.spec.sinks else None
        id = next((sink.row_id for sink in self.spec.sinks if sink.row_id is not None), None)
        found = encode.lines(self.rows, Encoding.of(self.spec, self.spec), 0, row, id)
        for number, (late, write) in enumerate(zip(self.lates, self.spec.late, strict=True), 1):
            found = found.union(encode.lines(late, Encoding.of(write, self.spec), number, row))
        return found

    @property
    def row(self) -> StructType:
        """The columns that are written."""
        return self.rows.select(*map(column, self.spec.node.columns)).schema


def compile(spec: QuerySpec, read: Reader, *, realtime: bool = False, now: Column | None = None, clock: str = "") -> Compiled:
    """`read` gives the records of a source's topic; `now` is the time at which a record is processed.

    `clock` is what the names of the query's clocks begin with, if another run of it is in the same Spark.
    """
    places = any(isinstance(node, Changes) for node in walk(spec.node))
    kernel = Kernel(spec.mode, at_once=realtime, places=places)
    ends = (spec.node, *(write.node for write in spec.late))
    newest = spec.paced or sum(source.lateness is not None for source in spec.sources) > 1
    found = [] if all(source.bad != "dead" for source in spec.sources) else [jvm.DeadLetters(spec.name)]
    inputs = Inputs(spec, _paced(read, spec, clock) if spec.paced else read, now, newest, *found)
    rows, *lates = _rows(ends, inputs, kernel)
    rows = Guard.of(spec.node, *found or [None]).whole(rows, holdable.nul_characters(spec, rows))
    if spec.headers:
        texts = [F.expr(text) for _, text in spec.headers]
        rows, values = Guard.of(spec.node, *found or [None]).expressions(rows, texts, ())
        rows = encode.with_headers(rows, [name for name, _ in spec.headers], values)
    counted = rows.where(jvm.emit(rows.sparkSession))
    compiled = Compiled(spec, counted, tuple(lates), tuple(kernel.layouts), tuple(kernel.types), *found or [None])
    records = compiled.records
    try:
        jvm.check_streaming(records, spec.mode)
        if realtime:
            jvm.check_realtime(records)
    except AnalysisException as e:
        raise PlanError(explain(e), where=spec.where) from e
    if any(isinstance(node, Join) for node in walk(spec.node)):
        return replace(compiled, types=(*compiled.types, *joins.kept(records)))
    return compiled


def _paced(read: Reader, spec: QuerySpec, clock: str) -> Reader:
    """The records, and between them times without an event, when the query's clock is told one."""

    def records(source: Read) -> DataFrame:
        return jvm.with_pulses(read(source), clock + spec.pulse(source), ADVANCE)

    return records


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a query is made of: the records of its topics, and the time at which they are processed."""

    spec: QuerySpec
    read: Reader
    now: Column | None
    newest: bool = False
    """Whether progress has to say how far the events of each source have come."""
    letters: jvm.DeadLetters | None = None


def _rows(ends: tuple[Node, ...], inputs: Inputs, kernel: Kernel) -> list[DataFrame]:
    nodes = {id(node): node for end in ends for node in walk(end)}
    watermark = any(_needs_watermark(node) for node in nodes.values())
    built = _Built(inputs, kernel, watermark, _followed(ends, nodes.values()))
    for node in nodes.values():
        try:
            built.add(node)
        except PySparkException as e:
            raise PlanError(explain(e), where=node.where) from e
    return [built.end(end) for end in ends]


def _followed(ends: Iterable[Node], nodes: Iterable[Node]) -> dict[int, set[StepSize]]:
    """How finely each table is followed: to whom history counts, every version does, wherever the batches begin and end.

    Where a table is written, and for a join as of arrival, it is enough to be right at the end of each batch, and quicker.
    """
    steps: dict[int, set[StepSize]] = {id(end): {"batch"} for end in ends}
    for node in reversed(list(nodes)):
        wanted = steps.setdefault(id(node), set())
        match node:
            case Changes():
                steps.setdefault(id(node.input), set()).add("record")
            case Lookup():
                steps.setdefault(id(node.table), set()).add(_looked_up(node))
            case _:
                for source in inputs(node):
                    steps.setdefault(id(source), set()).update(wanted)
    return steps


def _looked_up(node: Lookup) -> StepSize:
    return "moment" if node.as_of == "event_time" else "batch"


def _needs_watermark(node: Node) -> bool:
    match node:
        case Aggregate():
            return node.window is not None
        case Dedupe():
            return node.within is not None
        case Lookup():
            return node.as_of == "event_time"
        case Join() | Apply() | TooLate():
            return True
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Built:
    """What is compiled so far: a frame for each stream, changes for each table that the kernel keeps."""

    inputs: Inputs
    kernel: Kernel
    watermark: bool
    followed: dict[int, set[StepSize]]
    frames: dict[int, DataFrame] = field(default_factory=dict[int, DataFrame])
    tables: dict[tuple[int, StepSize], Table] = field(default_factory=dict[tuple[int, StepSize], Table])
    raw: dict[int, Table] = field(default_factory=dict[int, Table])
    decoded: list[Read] = field(default_factory=list[Read])

    def frame(self, node: Node) -> DataFrame:
        return self.frames[id(node)]

    def end(self, node: Node) -> DataFrame:
        """What is written."""
        if id(node) in self.frames:
            return self.taken(node)
        return tables.flat(node, self.changes(node, "record") if id(node) in self.raw else self.changes(node, "batch"))

    def taken(self, node: Node) -> DataFrame:
        """Its rows, for something that keeps state or writes."""
        return account.taken(self.frame(node)) if account.fresh(node) else self.frame(node)

    def _timed(self, node: Node) -> DataFrame:
        """Likewise, for something that leaves out what is older than the watermark."""
        return account.timed(self.frame(node), F.unix_micros(TIME)) if account.fresh(node) else self.frame(node)

    def table(self, node: Node, steps: StepSize) -> Table:
        """As upserts, if it is nothing but these; else its changes."""
        return self.raw[id(node)] if id(node) in self.raw else self.tables[id(node), steps]

    def changes(self, node: Node, steps: StepSize) -> Table:
        """With the row before; made once, whoever asks."""
        if (id(node), steps) not in self.tables:
            self.tables[id(node), steps] = tables.newest(self.raw[id(node)], node, self.kernel, steps)
        return self.tables[id(node), steps]

    def side(self, node: Node, on: Iterable[str], steps: StepSize) -> Table:
        """One side of a join of tables: where it is joined on its own key, the join keeps its newest row itself."""
        raw = self.raw.get(id(node)) if steps == "batch" else None
        return raw if raw is not None and not raw.null_keys and set(on) == set(node.key) else self.changes(node, steps)

    def add(self, node: Node) -> None:
        if node.udfs:
            _register(self._session(inputs(node)[0]), node)
        if node.kind == "stream":
            self.frames[id(node)] = self._frame(node)
        elif (raw := self._raw(node)) is not None:
            self.raw[id(node)] = raw
        else:
            for steps in sorted(self.followed[id(node)]):
                made = self._table(node, steps)
                if made is None:
                    self.frames[id(node)] = self._frame(node)
                    break
                self.tables[id(node), steps] = made

    def _session(self, node: Node) -> SparkSession:
        if id(node) in self.frames:
            return self.frame(node).sparkSession
        return self.table(node, min(self.followed[id(node)])).frame.sparkSession

    def _raw(self, node: Node) -> Table | None:
        """Upserts as they come, and what only looks at one of them."""
        match node:
            case Read():
                return tables.upserts(self._decoded(node), node, places=self.kernel.places)
            case AsTable():
                return tables.upserts(self._keyed(node), node, places=self.kernel.places)
            case Filter() if id(node.input) in self.raw:
                return tables.filter(node, self.raw[id(node.input)], self._guard(node))
            case Project() if id(node.input) in self.raw:
                return tables.project(node, self.raw[id(node.input)], self._guard(node))
            case _:
                return None

    def _table(self, node: Node, steps: StepSize) -> Table | None:
        """None for what Spark aggregates itself: rows that replace each other, without the ones before."""
        match node:
            case Filter() if id(node.input) not in self.frames:
                return tables.filter(node, self.table(node.input, steps), self._guard(node))
            case Project() if id(node.input) not in self.frames:
                return tables.project(node, self.table(node.input, steps), self._guard(node))
            case TableJoin():
                left = self.side(node.left, (mine for mine, _ in node.on), steps)
                right = self.side(node.right, (theirs for _, theirs in node.on), steps)
                return tables.join(node, left, right, self.kernel, steps)
            case TableAggregate():
                return tables.aggregate(node, self.changes(node.input, steps), self.kernel, steps)
            case _:
                return None

    def _frame(self, node: Node) -> DataFrame:
        frame = self.frame
        match node:
            case Read():
                return self._decoded(node)
            case Filter():
                rows, (condition,) = self._guarded(node, [node.condition])
                kept = account.filtered(rows, condition) if account.fresh(node) else rows.where(condition)
                return kept if rows is frame(node.input) else kept.select(*map(column, frame(node.input).columns))
            case Project():
                rows, results = self._guarded(node, [text for _, text in node.items])
                named = [result.alias(name) for result, (name, _) in zip(results, node.items, strict=True)]
                made = rows.select(*named, *account.hidden(node))
                return windows.untimed(made) if any(TIME in text.lower() for _, text in node.items) else made
            case Explode():
                kept = [column(name) for name in node.columns if name != node.name]
                rows, (several,) = self._guarded(node, [node.expression])
                if not account.fresh(node):
                    return rows.select(*kept, F.explode(several).alias(node.name), *node.hidden)
                # Also a row for a record with nothing in it, which has no position.
                each = rows.select(*kept, F.posexplode_outer(several).alias(_POSITION, node.name), *account.hidden(node))
                return account.filtered(each, F.col(_POSITION).isNotNull()).drop(_POSITION)
            case Apply():
                return _apply(node, self.taken(node.input))
            case Merge():
                # What is one record's and what is not can't be told apart any more.
                rows = frame if account.fresh(node) else self.taken
                kept = (*map(column, node.columns), *account.hidden(node))
                first, *others = [rows(source).select(*kept) for source in node.inputs]
                for other in others:
                    first = first.union(other)
                return first
            case Join():
                return joins.join(node, self._timed(node.left), self._timed(node.right))
            case Lookup():
                base = lanes.shared(node)
                if base is None:
                    table = self.table(node.table, _looked_up(node))
                    return tables.lookup(node, self.taken(node.stream), table, self.kernel)
                both, inside, table = lanes.lanes(node, base, frame(base), self._guard)
                if account.fresh(base):
                    both = account.keyed(both, tables.has_key(node.table.key), inside)
                    table = replace(table, frame=both)
                return tables.lookup(node, both, table, self.kernel, inside)
            case Changes():
                return tables.changes(node, self.changes(node.input, "record"))
            case Dedupe():
                self.kernel.native(node, frame(node.input), node.by)
                return _dedupe(node, self.taken(node.input) if node.within is None else self._timed(node.input))
            case KeyBy():
                return frame(node.input)
            case Aggregate():
                aggregates = [F.expr(text).alias(name) for name, text in node.aggregates]
                known = self._guard(node).whole(frame(node.input), holdable.null_keys(self.inputs.spec, node))
                rows, aggregates = self._guard(node).expressions(known, aggregates, node.udfs, aggregates=True)
                return windows.aggregate(node, rows, aggregates, self.kernel)
            case TooLate():
                return windows.too_late(node, frame(node.input))
            case AsTable() | TableJoin() | TableAggregate() | Cut():
                raise AssertionError(f"{type(node).__name__} is no stream of a query")

    def _keyed(self, node: AsTable) -> DataFrame:
        if not account.fresh(node.input):
            return self.frame(node.input)
        needed = (*node.key, *((node.version,) if node.version else ()))
        return account.keyed(self.frame(node.input), tables.all_known(map(column, needed)))

    def _guarded(self, node: Filter | Project | Explode, texts: list[str]) -> tuple[DataFrame, list[Column]]:
        """Rows for these expressions: one on which they fail is what `bad=` says, as long as it is that of one record."""
        return self._guard(node).expressions(self.frame(node.input), list(map(F.expr, texts)), node.udfs)

    def _guard(self, node: Node) -> Guard:
        return Guard.of(node, self.inputs.letters)

    def _decoded(self, source: Read) -> DataFrame:
        records, label = self.inputs.read(source), self.inputs.spec.label(source)
        number = len(self.decoded)
        self.decoded.append(source)
        if source.origin is not None:
            (rows,) = _rows((source.origin,), self.inputs, Kernel("update"))
            source = replace(source, fields=fields_of(rows.select(*map(column, source.origin.columns)).schema))
        return decode(
            records,
            source,
            label=label,
            number=number,
            watermark=self.watermark,
            now=self.inputs.now,
            newest=self.inputs.newest,
            letters=self.inputs.letters,
        )


def _apply(node: Apply, frame: DataFrame) -> DataFrame:
    result = node.function(frame)
    if not isinstance(result, DataFrame):
        raise PlanError(f"the function of apply() returned {type(result).__name__}, not a DataFrame", where=node.where)
    missing = [name for name in (*node.columns, TIME) if name not in result.columns]
    if missing:
        raise PlanError(
            f"what apply() returned lacks {', '.join(missing)}; it has {', '.join(result.columns)}",
            where=node.where,
            fix=f"keep {TIME}, and name the columns it returns: apply(f, columns=[…])",
        )
    return windows.untimed(result.select(*map(column, node.columns), TIME))


def _dedupe(node: Dedupe, frame: DataFrame) -> DataFrame:
    if node.within is None:
        return frame.dropDuplicates(list(node.by))
    # Spark remembers a row for as long as its watermark waits; telling it another wait makes `within` free to choose.
    others = [column(name) for name in frame.columns if name != TIME]
    remembered = frame.select(*others, windows.timed(F.col(TIME), node.within))
    deduped = remembered.dropDuplicatesWithinWatermark(list(node.by))
    return deduped.select(*others, windows.timed(F.col(TIME), node.lateness or 0))


def _register(spark: SparkSession, node: Node) -> None:
    extras.require("pandas", "Python functions", where=node.where)
    from headrace.spark import functions  # imports pandas

    functions.register(spark, node.udfs, node.where)


def explain(e: PySparkException) -> str:
    """Spark's sentence, without its code, its plan and its SQLSTATE."""
    text = (e.getMessage() or str(e)).strip()
    text = re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", text)
    text = re.split(r"\s*SQLSTATE: \w+|;?\s*line \d+ pos \d+|\n\s*'?[A-Z]\w+ |;\n|\n\n== ", text, maxsplit=1)[0]
    return " ".join(text.split()).rstrip(";. ")
