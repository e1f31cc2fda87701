"""Sink: where rows go besides topics, and what writes them there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from headrace.errors import Where
from headrace.secrets import Secret

if TYPE_CHECKING:
    from headrace.effects.effect import Effect
    from headrace.plan.nodes import Node
    from headrace.sinks.custom import Writer

Option = str | int | bool | None | Secret | Mapping[str, str]
Output = Literal["keep", "delete"]


@dataclass(frozen=True, slots=True)
class Destination:
    """A class of the kernel: `java` is its name below `headrace.kernel.sink`. Secrets are read only when it is made."""

    java: str
    options: Mapping[str, Option]


@dataclass(frozen=True, slots=True)
class SparkWriter:
    """Spark's own sink of files."""

    format: str
    path: str
    partition_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outbox:
    """The application's outbox, whose rows the dispatcher sends."""

    effect: Effect


@dataclass(frozen=True, slots=True)
class PythonWriter:
    """A class of the user's, in this process. One that stores no mark can't say which batches it has."""

    writer: Writer
    marked: bool


WrittenBy = Destination | SparkWriter | Outbox | PythonWriter


@dataclass(frozen=True, kw_only=True)
class Sink:
    """Where rows go besides topics; the values that `hr.sinks` makes."""

    @property
    def label(self) -> str:
        """As it is drawn and named: what it is, and which. No secret is in it."""
        raise NotImplementedError

    @property
    def written_by(self) -> WrittenBy:
        """What writes the rows; all that the runtime knows of the sink's system."""
        raise NotImplementedError

    def reset(self, output: Output, node: Node) -> str:
        """What a reset does to the rows that are there, as a sentence. Refuses what can't be done."""
        raise NotImplementedError

    def check(self, node: Node, where: Where) -> None:
        """Refuses what can't be written there."""

    def key(self, node: Node, where: Where) -> tuple[str, ...]:
        """The columns that can't be null there; none if rows are only added."""
        return ()

    @property
    def again(self) -> bool:
        """Whether a crash may write a batch there again: it is at least once, not exactly once."""
        return False

    @property
    def no_nul(self) -> bool:
        """Whether it can't hold a text with a NUL character."""
        return False

    @property
    def alone(self) -> bool:
        """Whether it needs a query of its own."""
        return self.row_id is not None

    @property
    def row_id(self) -> tuple[tuple[str, str | None], ...] | None:
        """What says that two rows are the same, in pieces of a text and a column; None if nothing does."""
        return None
