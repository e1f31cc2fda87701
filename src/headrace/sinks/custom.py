"""A sink that you write in Python: a class that gets the rows batch by batch, and stores a mark with each batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.errors import ConfigError, PlanError, RunError, Where
from headrace.plan import checks, spelling
from headrace.plan.callsite import call_site
from headrace.plan.nodes import Node
from headrace.plan.sink import Output, PythonWriter, Sink

if TYPE_CHECKING:
    import pyarrow


class Refused(RunError):
    """Raise it in a writer if another attempt would fail too: the run ends. After other exceptions the query restarts."""

    def __init__(self, message: str, *, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)


class Writer(ABC):
    """Writes to a system that Headrace does not know.

    For each batch, `write` is called with its rows, piece by piece, then `commit`. A writer with `begin`, which stores the
    mark together with the rows, is exactly once; one without it is at least once.
    """

    def begin(self) -> str | bytes | None:
        """Called before anything is written, and again after a failure: returns the stored mark, or None."""
        return None

    @abstractmethod
    def write(self, batch: pyarrow.RecordBatch) -> None:  # pyright: ignore[reportUnknownMemberType, reportUnknownParameterType]
        """Takes some rows of the current batch. Rows of a table have a column `_op`: "upsert" or "delete"."""

    @abstractmethod
    def commit(self, mark: str) -> None:
        """Makes the rows visible and stores the mark, both or neither. If it raises, `begin` says which of them happened."""

    def abort(self) -> None:
        """Drops the rows written since the last commit: `write` or `commit` failed."""
        return

    def forget(self) -> None:
        """Drops the mark, for `headrace repair` and `headrace reset`; by default commits an empty mark, without rows."""
        self.commit("")

    def clear(self) -> None:
        """Deletes all rows, for `headrace reset --output delete`."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes what `begin` opened; `begin` may follow."""
        return


@dataclass(frozen=True, kw_only=True)
class Custom(Sink):
    """See `custom`."""

    writer: Writer = field(compare=False)
    name: str

    @property
    def label(self) -> str:
        return f"custom.{self.name}"

    @property
    def written_by(self) -> PythonWriter:
        return PythonWriter(self.writer, marked=not self.again)

    @property
    def again(self) -> bool:
        return type(self.writer).begin is Writer.begin

    def check(self, node: Node, where: Where) -> None:
        if node.kind == "table" and "_op" in node.columns:
            raise PlanError(
                f"{self.label} adds a column _op to the rows of a table, and this table already has one",
                where=where,
                fix='rename it: select(…, operation="_op")',
            )

    def reset(self, output: Output, node: Node) -> str:
        if output == "keep":
            if node.kind == "table":
                return f"rows of {self.label} stay until new ones with their keys replace them; others stay for good"
            return f"all results are written to {self.label} again: it then has them twice"
        if type(self.writer).clear is Writer.clear:
            raise ConfigError(
                f"{self.label} can't delete its rows: {type(self.writer).__name__} has no clear()",
                fix=f"write {type(self.writer).__name__}.clear(self), which deletes all rows; or --output keep",
            )
        return f"{type(self.writer).__name__}.clear() deletes the rows of {self.label}"


@spelling.arguments
def custom(writer: Writer, *, name: str) -> Custom:
    """Your own sink: `custom(Folder("out"), name="folder")`. The writer gets the rows as Arrow record batches.

    It is exactly once if the writer stores the mark that `commit` gets and returns it from `begin`; at least once if it has
    no `begin`. Marks belong to `name` and to the query: keep both.
    """
    where = call_site().where
    if isinstance(writer, type) and issubclass(writer, Writer):
        raise PlanError(
            f"{writer.__name__} is a class, not a writer", where=where, fix=f"write custom({writer.__name__}(…), …)"
        )
    if not isinstance(writer, Writer):  # pyright: ignore[reportUnnecessaryIsInstance]
        missing = [verb for verb in ("write", "commit") if not callable(getattr(writer, verb, None))]
        without = f": it has no {' and no '.join(f'{verb}()' for verb in missing)}" if missing else ""
        raise PlanError(
            f"a {type(writer).__name__} is not a writer{without}",
            where=where,
            fix="write a class with write(self, batch) and commit(self, mark): hr.sinks.Writer",
        )
    return Custom(writer=writer, name=checks.name(name, "sink", where))
