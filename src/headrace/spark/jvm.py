"""The door to the JVM: the only file that touches py4j. Everything Java that Headrace calls is a function here."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple, cast

from py4j.java_gateway import JavaClass, JavaPackage, JVMView
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructField, StructType

from headrace.broker.records import DeadLetter
from headrace.errors import PlanError, RunError
from headrace.plan.windows import Window

JavaError = Py4JError
GONE = (Py4JNetworkError, ConnectionRefusedError, ConnectionResetError)
"""What is raised once the JVM is no more."""


def _jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm  # pyright: ignore[reportPrivateUsage]


def remember_names() -> None:
    """Lets py4j look up each name once: each part of `headrace.kernel.log` is a call that searches every jar."""
    for kind in cast("tuple[Any, ...]", (JVMView, JavaPackage)):
        if not hasattr(kind.__getattr__, "__wrapped__"):
            kind.__getattr__ = _remembering(kind.__getattr__)


def _remembering(ask: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    @wraps(ask)
    def remembered(self: Any, name: str) -> Any:
        found = ask(self, name)
        if isinstance(found, JavaClass | JavaPackage):
            self.__dict__[name] = found
        return found

    return remembered


def kernel(spark: SparkSession) -> Any:
    """The door to what the kernel has, by package."""
    return _jvm(spark).headrace.kernel


def adopt(spark: SparkSession) -> None:
    """This thread works with the session that another one has started."""
    _jvm(spark).SparkSession.setActiveSession(spark._jsparkSession)  # pyright: ignore[reportPrivateUsage]


def kernel_version(spark: SparkSession) -> str:
    return str(_jvm(spark).headrace.kernel.Kernel.version())


class LogRecord(NamedTuple):
    """A record of a memory log. `epoch` and `cut` tell the batch that wrote it and how far that batch had read; else -1."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    partition: int
    offset: int
    epoch: int
    cut: int


_LOG_IN = struct.Struct(">iq")
_LOG_OUT = struct.Struct(">iqqqi")
_LENGTH = struct.Struct(">i")


def _memory_log(spark: SparkSession) -> Any:
    return _jvm(spark).headrace.kernel.log.MemoryLog


def memory_log_create(spark: SparkSession, name: str, topics: Mapping[str, int] | None = None) -> None:
    """Creates a log, and topics with so many partitions; a topic not named here has 1 from its first use on."""
    _memory_log(spark).create(name)
    for topic, partitions in (topics or {}).items():
        _memory_log(spark).createTopic(name, topic, partitions)


def memory_log_drop(spark: SparkSession, name: str) -> None:
    _memory_log(spark).drop(name)


def memory_log_append(
    spark: SparkSession, name: str, topic: str, records: Iterable[tuple[bytes | None, bytes | None, int, int]]
) -> int:
    """Appends (key, value, timestamp in microseconds, partition); readers see them after the next cut."""
    packed = bytearray()
    for key, value, timestamp, partition in records:
        packed += _LOG_IN.pack(partition, timestamp)
        for field in (key, value):
            packed += _LENGTH.pack(-1 if field is None else len(field))
            packed += field or b""
    return int(_memory_log(spark).append(name, topic, bytes(packed)))


def memory_log_advance(spark: SparkSession, name: str, topic: str, timestamp: int) -> None:
    """Appends a punctuation: a row with nothing but `advance`, which moves event time without an event."""
    _memory_log(spark).advance(name, topic, timestamp)


def memory_log_cut(spark: SparkSession, name: str) -> int:
    """Ends the interval that is to be the next batch, in all topics; returns its number."""
    return int(_memory_log(spark).cut(name))


def memory_log_size(spark: SparkSession, name: str, topic: str) -> int:
    return int(_memory_log(spark).size(name, topic))


def memory_log_records(spark: SparkSession, name: str, topic: str) -> int:
    """How many records the topic has, without punctuations."""
    return int(_memory_log(spark).records(name, topic))


def memory_log_read(spark: SparkSession, name: str, topic: str, start: int = 0) -> list[LogRecord]:
    """The topic's records in order of arrival, from the `start`-th on, cut or not; punctuations count but are left out."""
    packed = bytes(_memory_log(spark).read(name, topic, start))
    records: list[LogRecord] = []
    at = 0
    while at < len(packed):
        partition, offset, timestamp, epoch, cut = _LOG_OUT.unpack_from(packed, at)
        key, at = _field(packed, at + _LOG_OUT.size)
        value, at = _field(packed, at)
        records.append(LogRecord(key, value, timestamp, partition, offset, epoch, cut))
    return records


def _field(packed: bytes, at: int) -> tuple[bytes | None, int]:
    (length,) = _LENGTH.unpack_from(packed, at)
    start = at + _LENGTH.size
    return (None, start) if length < 0 else (packed[start : start + length], start + length)


def check_streaming(frame: DataFrame, mode: str) -> None:
    """What Spark says of a streaming plan when a query starts, said before it starts."""
    checker = _jvm(frame.sparkSession).org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    checker.checkForStreaming(frame._jdf.queryExecution().analyzed(), _mode(frame, mode))  # pyright: ignore


def check_realtime(frame: DataFrame) -> None:
    """What Spark says besides when a query starts in real-time mode; some it says only when that runs."""
    jvm = _jvm(frame.sparkSession)
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    update = jvm.org.apache.spark.sql.streaming.OutputMode.Update()
    checker.checkAdditionalRealTimeModeConstraints(frame._jdf.queryExecution().analyzed(), update)  # pyright: ignore


def decode_json(
    spark: SparkSession, value: Column, topic: Column, partition: Column, offset: Column, *, schema: StructType, fail: bool
) -> Column:
    """A record's value, JSON in UTF-8, as a struct: the schema's fields and, last, `_bad`, the cause when the record is bad.

    With `fail`, a bad record stops the query instead. Select the column once under a name and use its fields by that name:
    Spark never merges or copies it, so used twice it decodes twice.
    """
    columns: list[Any] = [column._jc for column in (value, topic, partition, offset)]  # pyright: ignore
    try:
        decoded = _jvm(spark).headrace.kernel.json.JsonDecoder.column(*columns, schema.json(), fail)
    except IllegalArgumentException as error:
        raise PlanError(str(error).partition("\n")[0]) from None
    return _column(decoded)


def folder_uri(spark: SparkSession, folder: str) -> str | None:
    """Under which name Spark has it; None if it is not there."""
    return _jvm(spark).headrace.kernel.file.Folder.uri(spark._jsparkSession, folder)  # pyright: ignore


def folder_problem(spark: SparkSession, folder: str, checkpoint: str) -> tuple[str, str] | None:
    """What became of a file that a query has read or is about to: "changed" or "vanished", and which."""
    found = _jvm(spark).headrace.kernel.file.Folder.problem(spark._jsparkSession, folder, checkpoint)  # pyright: ignore
    return None if found is None else (str(found[0]), str(found[1]))


def register_folder(spark: SparkSession, uri: str, options: Mapping[str, str]) -> None:
    """How its files are read, should single records be wanted."""
    _jvm(spark).headrace.kernel.file.FileRecords.register(uri, dict(options))


class FunctionCalls:
    """The calls of some functions in expressions (kernel: FunctionCalls); `over` is the expressions over their results."""

    def __init__(self, expressions: Sequence[Column], names: Sequence[str], prefix: str) -> None:
        self._java = _jvm(SparkSession.active()).headrace.kernel.guard.FunctionCalls(list(names), prefix)
        self.over = [_column(self._java.without(expression._jc)) for expression in expressions]  # pyright: ignore

    def __len__(self) -> int:
        return int(self._java.size())

    def arguments(self, number: int) -> list[Column]:
        return [_column(argument) for argument in self._java.arguments(number)]

    def call(self, number: int, arguments: Sequence[Column]) -> Column:
        return _column(self._java.call(number, _columns(arguments)))


def guards(
    frame: DataFrame, expressions: Sequence[Column], prefix: str, *, aggregates: bool = False
) -> tuple[list[Column], list[Column]]:
    """What in the expressions can fail on a row, as columns of the frame (kernel: Guards), and the expressions over these.

    The last of the columns, called as the prefix, is the cause where one of them failed.
    """
    made = _jvm(frame.sparkSession).headrace.kernel.guard.Guards
    taken = (made.ofAggregates if aggregates else made.of)(frame._jdf, _columns(expressions), prefix)  # pyright: ignore
    return [_column(each) for each in taken.columns()], [_column(each) for each in taken.over()]


class DeadLetters:
    """What the tasks of a query's batches could not use."""

    def __init__(self, query: str) -> None:
        spark = SparkSession.active()
        self.java = _jvm(spark).headrace.kernel.sink.DeadLetters.of(spark._jsparkSession, query)  # pyright: ignore

    def good(self, operator: str, cause: Column, topic: Column, partition: Column, offset: Column) -> Column:
        """A condition that holds where there is no cause, and tells of the others."""
        columns: list[Any] = [column._jc for column in (cause, topic, partition, offset)]  # pyright: ignore
        letters = _jvm(SparkSession.active()).headrace.kernel.sink.DeadLetters
        bad = note("BAD", topic, partition, offset, answer=True)
        return cause.isNull() | (bad & _column(letters.good(self.java, operator, *columns)))

    def oversized(self, batch: int) -> int:
        """How many of its rows were too large for their topic; asked once."""
        return int(self.java.oversized(batch))

    def take(self) -> list[DeadLetter]:
        """What was told since this was last asked."""
        return [
            DeadLetter(letter.topic(), letter.partition(), letter.offset(), letter.operator(), letter.cause())
            for letter in self.java.take()
        ]


SINK = "headrace.kernel.sink.spark.SinkProvider"
"""The format to write with; its option `sink` is the name of one that is registered."""


def register_sink(spark: SparkSession, name: str, destinations: Sequence[Any]) -> None:
    """Where the next run of a query writes; what an earlier run left under this name is closed."""
    _jvm(spark).headrace.kernel.sink.Destinations.register(name, list(destinations))


def unregister_sink(spark: SparkSession, name: str) -> None:
    _jvm(spark).headrace.kernel.sink.Destinations.unregister(name)


def expect_topics(spark: SparkSession, name: str, client: Mapping[str, str], ids: Mapping[str, str], *, planned: bool) -> None:
    """A batch counts only while the query's topics have these ids, which are compared before the kernel's sink writes it, or
    when it is `planned`, for other sinks. The thread that starts the query has to call this."""
    # librdkafka writes ids in plain Base64, Java in that of URLs.
    java = {topic: id.rstrip("=").replace("+", "-").replace("/", "_") for topic, id in ids.items()}
    topics = _jvm(spark).headrace.kernel.source.TopicIds
    topics.expect(name, dict(client), java)
    spark.sparkContext.setLocalProperty(topics.PLANNED, name if planned else None)  # pyright: ignore[reportArgumentType]


def forget_topics(spark: SparkSession, name: str) -> None:
    _jvm(spark).headrace.kernel.source.TopicIds.forget(name)


def bury(spark: SparkSession, name: str, batch: int) -> None:
    """The dead letters alone, of a query whose rows another sink writes. What raises a RunError can be tried again."""
    with _told("the dead letters could not be written"):
        _jvm(spark).headrace.kernel.sink.Destinations.writeDeadLetters(name, batch)


def begin_sink(spark: SparkSession, name: str, checkpoint: str) -> list[str]:
    """Compares what its destinations hold with the checkpoint; returns notes on caches that lost rows. Raises Stopped."""
    try:
        return list(_jvm(spark).headrace.kernel.sink.Destinations.begin(name, checkpoint, spark._jsparkSession))  # pyright: ignore
    except Py4JJavaError as e:
        raise Stopped(_failure(e.java_exception)) from e


def repair_sink(spark: SparkSession, name: str, checkpoint: str) -> list[str]:
    """Destinations that don't fit the checkpoint forget what they have; returns which."""
    with _told("the destinations can't be repaired"):
        return list(_jvm(spark).headrace.kernel.sink.Destinations.repair(name, checkpoint, spark._jsparkSession))  # pyright: ignore


def forget_sink(spark: SparkSession, name: str, *, rows: bool) -> None:
    """All its destinations forget what they have, as if nothing had been written; with `rows` they delete it too."""
    with _told("the destinations can't be reset"):
        _jvm(spark).headrace.kernel.sink.Destinations.forget(name, rows)


@contextmanager
def _told(what: str) -> Generator[None]:
    """An exception of Java's in one sentence."""
    try:
        yield
    except Py4JJavaError as e:
        raise RunError(f"{what}: {cast('Any', e.java_exception).getMessage()}", fix="fix that and try again") from e


NO_VERSION = -(2**63)
"""The version of a change that holds whatever is known."""


def gather(changes: DataFrame, *, at_once: bool) -> DataFrame:
    """Changes with keys -> blocks by key, for an operator; with `at_once`, none waits for another."""
    return DataFrame(_operators(changes).gather(changes._jdf, at_once), changes.sparkSession)  # pyright: ignore


def pair(left: StructType, right: StructType) -> StructType:
    """The type of two rows in one, either of which may be null."""
    return StructType([StructField("left", left), StructField("right", right)])


def scatter(blocks: DataFrame, before: StructType, after: StructType, *, pairs: bool, at_once: bool) -> DataFrame:
    """An operator's blocks -> its changes, one a row, with the rows before and after as structs of these types."""
    out = _operators(blocks).scatter(blocks._jdf, before.json(), after.json(), pairs, at_once)  # pyright: ignore
    return DataFrame(out, blocks.sparkSession)


def newest(blocks: DataFrame, *, remember: bool, null_keys: bool, steps: str, mode: str) -> DataFrame:
    out = _operators(blocks).newest(blocks._jdf, remember, null_keys, steps.upper(), _mode(blocks, mode))  # pyright: ignore
    return DataFrame(out, blocks.sparkSession)


def timeline(blocks: DataFrame, *, null_keys: bool, mode: str) -> DataFrame:
    return DataFrame(_operators(blocks).timeline(blocks._jdf, null_keys, _mode(blocks, mode)), blocks.sparkSession)  # pyright: ignore


def lookup(blocks: DataFrame, *, outer: bool, versioned: bool, remember: bool, mode: str) -> DataFrame:
    out = _operators(blocks).lookup(blocks._jdf, outer, versioned, remember, _mode(blocks, mode))  # pyright: ignore
    return DataFrame(out, blocks.sparkSession)


def as_of(blocks: DataFrame, *, outer: bool, history: int, counting: bool, computed: bool, mode: str) -> DataFrame:
    out = _operators(blocks).asOf(blocks._jdf, outer, history, counting, computed, _mode(blocks, mode))  # pyright: ignore
    return DataFrame(out, blocks.sparkSession)


def table_join(
    blocks: DataFrame, *, left: bool, right: bool, by: str, sides: tuple[str, str], steps: str, mode: str
) -> DataFrame:
    out = _operators(blocks).join(blocks._jdf, left, right, by.upper(), *sides, steps.upper(), _mode(blocks, mode))  # pyright: ignore
    return DataFrame(out, blocks.sparkSession)


def settle(blocks: DataFrame, *, steps: str, mode: str) -> DataFrame:
    return DataFrame(_operators(blocks).settle(blocks._jdf, steps.upper(), _mode(blocks, mode)), blocks.sparkSession)  # pyright: ignore


def watermark(spark: SparkSession) -> Column:
    """The time before which all is closed, in microseconds; known when a batch is planned."""
    return _column(_jvm(spark).headrace.kernel.time.Gate.watermark())


def still_open(spark: SparkSession, end: Column, *, fails: bool) -> Column:
    """Whether what ends then (microseconds) is not closed yet; what is, is counted, or fails the query."""
    return _column(_jvm(spark).headrace.kernel.time.Gate.open(end._jc, fails))  # pyright: ignore


def with_pulses(records: DataFrame, name: str, column: str) -> DataFrame:
    """The records and, in the column, the times of a clock of that name; the records may have some there themselves."""
    pulses = records.sparkSession.readStream.format("headrace.kernel.time.PulseSource").option("name", name).load()
    if column not in records.columns:
        records = records.select("*", F.lit(None).cast("timestamp").alias(column))
    return records.unionByName(pulses, allowMissingColumns=True)


def pulse(spark: SparkSession, name: str, time: int) -> None:
    """The clock of that name has come so far, in microseconds since 1970."""
    _jvm(spark).headrace.kernel.time.Pulses.beat(name, time)


def last_pulse(spark: SparkSession, name: str) -> int:
    """How far the clock of that name has come; 0 if it was never told."""
    return int(_jvm(spark).headrace.kernel.time.Pulses.last(name))


def note(fate: str, topic: Column, partition: Column, offset: Column, *, answer: bool) -> Column:
    """A condition with that answer, which notes the fate of the record at that place (kernel: account.Fate)."""
    place: list[Any] = [column._jc for column in (topic, partition, offset)]  # pyright: ignore
    return _column(_jvm(SparkSession.active()).headrace.kernel.account.Tally.noting(fate, answer, *place))


def emit(spark: SparkSession) -> Column:
    """A condition that holds, and counts a row of the output."""
    return _column(_jvm(spark).headrace.kernel.account.Tally.emitting())


class Account(NamedTuple):
    """What became of the records of a batch. `read` is the sum of the next four."""

    read: int
    taken: int
    filtered: int
    late: int
    bad: int
    bad_earlier: int
    """Records that became bad now and were read by an earlier batch."""
    emitted: int
    """Rows of the output."""


def account(query: StreamingQuery, batch: int) -> Account:
    """Of a batch that is done; asked once."""
    jvm: Any = SparkContext._jvm  # pyright: ignore[reportPrivateUsage]
    return Account(*map(int, jvm.headrace.kernel.account.Account.close(query.runId, batch)))


def late(query: StreamingQuery, batch: int) -> int:
    """How many rows the gates of a batch did not let through; asked once."""
    # Not the active session: that is one of a thread, and whoever asks may be in another.
    jvm: Any = SparkContext._jvm  # pyright: ignore[reportPrivateUsage]
    return int(jvm.headrace.kernel.time.Gate.late(query.runId, batch))


def sliding(blocks: DataFrame, split: Split, *, size: int, emit: str, mode: str) -> DataFrame:
    door = _jvm(blocks.sparkSession).headrace.kernel.slide.SlidingOperators
    return DataFrame(door.sliding(blocks._jdf, split.java, size, emit.upper(), _mode(blocks, mode)), blocks.sparkSession)  # pyright: ignore


def windows(blocks: DataFrame, aggregates: Aggregates, window: Window, *, emit: str, tick: int, mode: str) -> DataFrame:
    door = _jvm(blocks.sparkSession).headrace.kernel.window.WindowOperators
    kind = "fixed" if window.kind in ("tumbling", "hopping") else window.kind
    shape = (kind, window.size, window.every, window.offset, window.unit, window.zone)
    out = door.windows(blocks._jdf, aggregates.java, *shape, emit.upper(), tick, _mode(blocks, mode))  # pyright: ignore
    return DataFrame(out, blocks.sparkSession)


class Calls:
    """Aggregate expressions over a frame's columns: the arguments of the calls in them, and what to make of their results."""

    _door: str

    def __init__(self, frame: DataFrame, expressions: Sequence[Column]) -> None:
        try:
            door: Any = getattr(_jvm(frame.sparkSession), self._door)
            self.java: Any = door.of(frame._jdf, _columns(expressions))  # pyright: ignore
        except IllegalArgumentException as error:
            raise PlanError(str(error).partition("\n")[0]) from None
        self.arguments = [_column(column) for column in self.java.arguments()]
        self.results = [_column(column) for column in self.java.results()]
        self.type = StructType.fromJson(json.loads(self.java.type().json()))


class Split(Calls):
    """Of these, what a row brought can be taken back when it goes."""

    _door = "headrace.kernel.table.aggregate.Split"


class Aggregates(Calls):
    """Any aggregate of Spark's, over rows that only come."""

    _door = "headrace.kernel.window.Aggregates"


def aggregate_types(groups: DataFrame) -> list[str]:
    """What Spark's own aggregate keeps: the calls in it with their types."""
    return [str(text) for text in _jvm(groups.sparkSession).headrace.kernel.StateTypes.aggregates(groups._jdf)]  # pyright: ignore


def join_types(rows: DataFrame) -> list[str]:
    """What Spark's own joins of streams keep: the columns of both sides with their types."""
    return [str(text) for text in _jvm(rows.sparkSession).headrace.kernel.StateTypes.joins(rows._jdf)]  # pyright: ignore


def table_aggregate(blocks: DataFrame, split: Split, *, whole: bool, steps: str, mode: str) -> DataFrame:
    out = _operators(blocks).aggregate(blocks._jdf, split.java, whole, steps.upper(), _mode(blocks, mode))  # pyright: ignore
    return DataFrame(out, blocks.sparkSession)


def _operators(frame: DataFrame) -> Any:
    return _jvm(frame.sparkSession).headrace.kernel.table.Operators


def _mode(frame: DataFrame, mode: str) -> Any:
    modes = _jvm(frame.sparkSession).org.apache.spark.sql.streaming.OutputMode
    return modes.Append() if mode == "append" else modes.Update()


def _columns(columns: Sequence[Column]) -> Any:
    spark = SparkSession.active()
    gateway = cast("Any", spark.sparkContext._gateway)  # pyright: ignore[reportPrivateUsage]
    array = gateway.new_array(_jvm(spark).org.apache.spark.sql.Column, len(columns))
    for i, each in enumerate(columns):
        array[i] = each._jc  # pyright: ignore
    return array


def _column(column: Any) -> Column:
    from pyspark.sql.classic.column import Column as ClassicColumn

    return ClassicColumn(column)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a query stopped, without Java: the chain of causes as class names and one text, and what Spark blames."""

    classes: tuple[str, ...]
    texts: tuple[str, ...]
    sentence: str
    condition: str
    fragments: tuple[str, ...]
    python: str | None
    trace: str

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    def message(self, kind: str) -> str | None:
        """What a cause of this class says; None if there is none."""
        return next((text for name, text in zip(self.classes, self.texts, strict=True) if name.endswith("." + kind)), None)


class Stopped(Exception):
    """A query that could not even start."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.failure = failure


def failure(query: StreamingQuery) -> Failure | None:
    """The failure of a query that stopped; None if it was stopped on purpose or runs."""
    option: Any = cast(Any, query)._jsq.exception()
    return _failure(option.get().cause(), option.get()) if option.isDefined() else None


def _failure(first: Any, exception: Any = None) -> Failure:
    chain: list[Any] = []
    current = first
    while current is not None and len(chain) < 20:
        chain.append(current)
        current = current.getCause()
    classes = tuple(str(link.getClass().getName()) for link in chain)
    texts = [str(link.getMessage() or "") for link in chain]
    text = "\n".join(texts)
    condition, fragments = "", list[str]()
    for name, link in zip(classes, chain, strict=True):
        if name.startswith("org.apache.spark."):
            condition = condition or str(_call(link, "getCondition") or "")
            for context in cast("list[Any]", _call(link, "getQueryContext") or []):
                fragments += [str(found) for found in (_call(context, "fragment"),) if found]
    return Failure(
        classes=classes,
        texts=tuple(texts),
        sentence=_sentence(texts),
        condition=condition,
        fragments=tuple(fragments),
        python=_python_error(text),
        trace=str((exception or first).toString()),
    )


def _call(target: Any, method: str) -> Any:
    """Not every exception of Spark answers; one that does not has nothing to tell."""
    try:
        return getattr(target, method)()
    except Py4JError:
        return None


def _sentence(texts: list[str]) -> str:
    """The innermost message that says something, in one line."""
    for text in reversed(texts):
        line = re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", text.strip().split("\n")[0])
        line = re.sub(r"\s*SQLSTATE: \w+.*$", "", line)
        if line:
            return line
    return texts[0].split("\n")[0] if texts else "unknown cause"


def _python_error(text: str) -> str | None:
    """The last line of a Python traceback, and where in the user's function it arose."""
    if "Traceback (most recent call last)" not in text:
        return None
    lines = [line for line in text.split("Traceback (most recent call last)", 1)[1].splitlines() if line.strip()]
    frames = [
        m for line in lines if (m := re.match(r'\s*File "([^"]+)", line (\d+), in (\S+)', line)) and "/pyspark/" not in m[1]
    ]
    last = next(
        (line.strip() for line in lines if re.match(r"^[A-Za-z_][\w.]*(Error|Exception|Warning|Interrupt|Exit)\b", line)),
        "a Python error",
    )
    return last + (f" (in {frames[-1][3]}, {frames[-1][1]}:{frames[-1][2]})" if frames else "")


def skip_offsets(spark: SparkSession, query: str, gaps: Iterable[tuple[str, int, int, int]]) -> None:
    """The query with this id in its checkpoint passes over these: topic, partition, and the offsets from and up to which."""
    known = _jvm(spark).headrace.kernel.source.Gaps
    known.forget(query)
    for gap in gaps:
        known.add(query, *gap)


def file(spark: SparkSession, url: str) -> tuple[Any, Any]:
    """Hadoop's file system of a URL, and the path in it (spark/storage.py)."""
    path = _jvm(spark).org.apache.hadoop.fs.Path(url)
    return path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), path  # pyright: ignore
