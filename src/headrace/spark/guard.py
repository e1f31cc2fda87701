"""Rows on which an expression fails: a dead letter, or what `bad=` says, as long as a row is that of one record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.errors import Where
from headrace.plan.nodes import Bad, Node, Udf, reads
from headrace.plan.source import Source
from headrace.spark import account, jvm
from headrace.spark.account import PLACE
from headrace.spark.read import inputs

_GUARD = "_guard_"
CALL = "_call_"
"""What the name of the form of a Python function begins with that returns the value or the cause."""
_ROW_KEY = "_row_key"


@dataclass(frozen=True, slots=True)
class Guard:
    """How to treat a row on which an operator fails: as the sources of its record say."""

    operator: str
    policies: tuple[tuple[Source, Bad], ...]
    dead_letters: jvm.DeadLetters | None
    internal: bool
    """Whether records of a topic between two queries are among them: the user knows nothing of these."""

    @staticmethod
    def of(node: Node, dead_letters: jvm.DeadLetters | None) -> Guard:
        sources = reads(node)
        internal = any(source.origin is not None for source in sources)
        policies: dict[tuple[Source, Bad], None] = {(source.source, source.bad): None for source in sources}
        called = "".join(f"{udf.name}(), " for udf in node.udfs).removesuffix(", ") or type(node).__name__.lower()
        return Guard(f"{called} at {_line(node.where)}", tuple(policies), dead_letters, internal)

    def expressions(
        self, frame: DataFrame, expressions: Sequence[Column], udfs: Sequence[Udf], *, aggregates: bool = False
    ) -> tuple[DataFrame, list[Column]]:
        """The rows on which none of the expressions fails, and the expressions over them."""
        if not self._by_record(frame) and _ROW_KEY not in frame.columns:
            return frame, list(expressions)
        rows, causes, over = frame, list[Column](), list(expressions)
        if udfs and not aggregates:
            calls = jvm.FunctionCalls(over, [udf.name for udf in udfs], CALL)
            over = calls.over
            for number in range(len(calls)):
                rows, found, arguments = self._guarded(rows, calls.arguments(number), f"{_GUARD}{number}_")
                rows = rows.select("*", calls.call(number, arguments))
                causes += [*found, F.col(f"{CALL}{number}.cause")]
        rows, found, over = self._guarded(rows, over, _GUARD, aggregates=aggregates)
        causes += found
        return (self._good(rows, F.coalesce(*causes)), over) if causes else (frame, over)

    def whole(self, frame: DataFrame, causes: Sequence[Column]) -> DataFrame:
        """The rows for which there is no cause, where that is one of the record."""
        return self._good(frame, F.coalesce(*causes)) if causes and self._by_record(frame) else frame

    def _by_record(self, frame: DataFrame) -> bool:
        return not self.internal and set(PLACE) <= set(frame.columns)

    def _guarded(
        self, frame: DataFrame, expressions: Sequence[Column], prefix: str, *, aggregates: bool = False
    ) -> tuple[DataFrame, list[Column], list[Column]]:
        if not expressions:
            return frame, [], []
        guards, over = jvm.guards(frame, expressions, prefix, aggregates=aggregates)
        return (frame.select("*", *guards), [F.col(prefix)], over) if guards else (frame, [], over)

    def _good(self, rows: DataFrame, cause: Column) -> DataFrame:
        if not self._by_record(rows):
            # A change of a table, of which there will be another if this one is left out: the run can't go on without it.
            return rows.where(_refused(cause, "HEADRACE_BAD_CHANGE", self.operator, "key:", F.to_json(_ROW_KEY)))
        topic, partition, offset = map(F.col, PLACE)

        def of(policy: Bad) -> Column | None:
            sources = [source for source, bad in self.policies if bad == policy]
            if not sources:
                return None
            mine = reduce(lambda one, other: one | other, (inputs.came_from(source, topic) for source in sources))
            # Most rows have no cause, and need no comparison.
            return cause if len(sources) == len(self.policies) else F.when(cause.isNotNull() & mine, cause)

        if (fails := of("fail")) is not None:
            rows = rows.where(_refused(fails, "HEADRACE_BAD_ROW", topic, partition, offset, self.operator))
        if (skipped := of("skip")) is not None:
            rows = account.skipped(rows, skipped)
        if self.dead_letters is not None and (dead := of("dead")) is not None:
            rows = rows.where(self.dead_letters.good(self.operator, dead, topic, partition, offset))
        return rows


def _refused(cause: Column, *words: str | Column) -> Column:
    """A condition that ends the run where there is a cause."""
    text = F.concat_ws(" ", *(F.lit(word) if isinstance(word, str) else word for word in words), F.lit("cause:"), cause)
    return cause.isNull() | F.raise_error(text).cast("boolean")


def _line(where: Where) -> str:
    return f"{where.file}:{where.line}"
