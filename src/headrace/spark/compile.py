"""A plan -> a DataFrame: one fold, one match. What Spark refuses is raised at the user's line."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace import extras
from headrace.errors import PlanError
from headrace.plan import traits
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
from headrace.plan.order import waves
from headrace.plan.queries import QuerySpec
from headrace.plan.traits import StepSize, of_record
from headrace.spark import account, encode, holdable, joins, jvm, shared, tables, windows
from headrace.spark.columns import column
from headrace.spark.decode import ADVANCE, decode, fields_of
from headrace.spark.encode import Encoding
from headrace.spark.guard import Guard
from headrace.spark.tables import Kernel, Table

Reader = Callable[[Read], DataFrame]
_POSITION = "_position"
_functions = threading.Lock()
"""Spark knows Python functions by their names alone, whatever application of this process registers them."""


@dataclass(frozen=True)
class Compiled:
    """The rows a query gives, those that came too late for it, and what its operators' state looks like."""

    spec: QuerySpec
    rows: DataFrame
    lates: tuple[DataFrame, ...]
    layouts: tuple[str, ...]
    types: tuple[str, ...]
    """Those of Spark's own operators."""
    dead_letters: jvm.DeadLetters | None
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
        return self.written(0)

    def written(self, route: int) -> StructType:
        """The columns of one of the query's routes."""
        rows, node = ((self.rows, self.spec.node), *zip(self.lates, (late.node for late in self.spec.late), strict=True))[route]
        return rows.select(*map(column, node.columns)).schema


def compile(
    spec: QuerySpec,
    read: Reader,
    *,
    realtime: bool = False,
    now: Column | None = None,
    clock: str = "",
    written: Mapping[str, StructType] | None = None,
) -> Compiled:
    """`read` gives the records of a source's topic; `now` is the time at which a record is processed.

    `clock` is what the names of the query's clocks begin with, if another run of it is in the same Spark. `written` has the
    rows of topics that other queries of the application write; of those that are not in it, the types are found out.
    """
    places = any(traits.of(node).steps == "record" for node in walk(spec.node))
    kernel = Kernel(spec.mode, at_once=realtime, places=places)
    ends = (spec.node, *(write.node for write in spec.late))
    newest = spec.paced or sum(source.lateness is not None for source in spec.sources) > 1
    found = [] if all(source.bad != "dead" for source in spec.sources) else [jvm.DeadLetters(spec.name)]
    inputs = Inputs(spec, _paced(read, spec, clock) if spec.paced else read, dict(written or {}), now, newest, *found)
    with _functions if any(node.udfs for end in ends for node in walk(end)) else nullcontext():
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


def compile_all(
    specs: Sequence[QuerySpec], read: Reader, *, realtime: bool = False, now: Column | None = None, clock: str = ""
) -> tuple[Compiled, ...]:
    """Each after those whose topics it reads: what they write says what the columns of these topics are."""
    between = [source.source for spec in specs for source in spec.sources if source.origin is not None]
    done: dict[str, Compiled] = {}
    written: dict[str, StructType] = {}
    for spec in (spec for wave in waves(specs) for spec in wave):
        compiled = compile(spec, read, realtime=realtime, now=now, clock=clock, written=written)
        done[spec.name] = compiled
        for number, topics in enumerate(spec.routes):
            written.update({topic: compiled.written(number) for topic in topics if any(each.reads(topic) for each in between)})
    return tuple(done[spec.name] for spec in specs)


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
    written: dict[str, StructType]
    """The rows of topics between the queries of the application."""
    now: Column | None
    newest: bool = False
    """Whether progress has to say how far the events of each source have come."""
    dead_letters: jvm.DeadLetters | None = None


def _rows(ends: tuple[Node, ...], inputs: Inputs, kernel: Kernel) -> list[DataFrame]:
    nodes = {id(node): node for end in ends for node in walk(end)}
    watermark = any(map(traits.needs_watermark, nodes.values()))
    built = _Built(inputs, kernel, watermark, _followed(ends, nodes.values()))
    for node in nodes.values():
        try:
            built.add(node)
        except PySparkException as e:
            raise PlanError(explain(e), where=node.where) from e
    return [built.end(end) for end in ends]


def _followed(ends: Iterable[Node], nodes: Iterable[Node]) -> dict[int, set[StepSize]]:
    """How finely each table is followed, by those who read it. Where it is written, batch by batch will do."""
    steps: dict[int, set[StepSize]] = {id(end): {"batch"} for end in ends}
    for node in reversed(list(nodes)):
        wanted, own = steps.setdefault(id(node), set()), traits.of(node).steps
        for source in inputs(node):
            steps.setdefault(id(source), set()).update(wanted if own is None else {own} if source.kind == "table" else ())
    return steps


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
        return account.taken(self.frame(node)) if of_record(node) else self.frame(node)

    def _timed(self, node: Node) -> DataFrame:
        """Likewise, for something that leaves out what is older than the watermark."""
        return account.timed(self.frame(node), F.unix_micros(TIME)) if of_record(node) else self.frame(node)

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
            case Filter() | Project() | TableJoin() | TableAggregate() | Aggregate() | Lookup() | Join() | Changes():
                return None
            case Explode() | Apply() | Merge() | Dedupe() | KeyBy() | TooLate() | Cut():
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
            case Filter() | Project() | Aggregate() | Read() | AsTable() | Lookup() | Join() | Changes():
                return None
            case Explode() | Apply() | Merge() | Dedupe() | KeyBy() | TooLate() | Cut():
                return None

    def _frame(self, node: Node) -> DataFrame:
        frame = self.frame
        match node:
            case Read():
                return self._decoded(node)
            case Filter():
                rows, (condition,) = self._guarded(node, [node.condition])
                kept = account.filtered(rows, condition) if of_record(node) else rows.where(condition)
                return kept if rows is frame(node.input) else kept.select(*map(column, frame(node.input).columns))
            case Project():
                rows, results = self._guarded(node, [text for _, text in node.items])
                named = [result.alias(name) for result, (name, _) in zip(results, node.items, strict=True)]
                made = rows.select(*named, *account.hidden(node))
                return windows.untimed(made) if any(TIME in text.lower() for _, text in node.items) else made
            case Explode():
                kept = [column(name) for name in node.columns if name != node.name]
                rows, (several,) = self._guarded(node, [node.expression])
                if not of_record(node):
                    return rows.select(*kept, F.explode(several).alias(node.name), *node.hidden)
                # Also a row for a record with nothing in it, which has no position.
                each = rows.select(*kept, F.posexplode_outer(several).alias(_POSITION, node.name), *account.hidden(node))
                return account.filtered(each, F.col(_POSITION).isNotNull()).drop(_POSITION)
            case Apply():
                return _apply(node, self.taken(node.input))
            case Merge():
                # What is one record's and what is not can't be told apart any more.
                rows = frame if of_record(node) else self.taken
                kept = (*map(column, node.columns), *account.hidden(node))
                first, *others = [rows(source).select(*kept) for source in node.inputs]
                for other in others:
                    first = first.union(other)
                return first
            case Join():
                return joins.join(node, self._timed(node.left), self._timed(node.right))
            case Lookup():
                if node.base is None:
                    table = self.table(node.table, traits.of(node).steps or "batch")
                    return tables.lookup(node, self.taken(node.stream), table, self.kernel)
                both, inside, table = shared.sides(node, node.base, frame(node.base), self._guard)
                if of_record(node.base):
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
        if not of_record(node.input):
            return self.frame(node.input)
        needed = (*node.key, *((node.version,) if node.version else ()))
        return account.keyed(self.frame(node.input), tables.all_known(map(column, needed)))

    def _guarded(self, node: Filter | Project | Explode, texts: list[str]) -> tuple[DataFrame, list[Column]]:
        """Rows for these expressions: one on which they fail is what `bad=` says, as long as it is that of one record."""
        return self._guard(node).expressions(self.frame(node.input), list(map(F.expr, texts)), node.udfs)

    def _guard(self, node: Node) -> Guard:
        return Guard.of(node, self.inputs.dead_letters)

    def _decoded(self, source: Read) -> DataFrame:
        records, label = self.inputs.read(source), self.inputs.spec.label(source)
        number = len(self.decoded)
        self.decoded.append(source)
        if source.origin is not None:
            source = replace(source, fields=fields_of(self._written(source, source.origin)))
        return decode(
            records,
            source,
            label=label,
            number=number,
            watermark=self.watermark,
            now=self.inputs.now,
            newest=self.inputs.newest,
            dead_letters=self.inputs.dead_letters,
        )

    def _written(self, source: Read, origin: Node) -> StructType:
        """The rows of a topic between two queries."""
        known = next((row for topic, row in self.inputs.written.items() if source.source.reads(topic)), None)
        if known is None:
            # A query that is compiled alone, or one that reads what it writes itself.
            (rows,) = _rows((origin,), self.inputs, Kernel("update"))
            known = rows.select(*map(column, origin.columns)).schema
            self.inputs.written[source.label] = known
        return known


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
