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
    """A class of the kernel: `java` is its name below `headrace.kernel.sink`. Secrets are read only when it is created."""

    java: str
    options: Mapping[str, Option]


@dataclass(frozen=True, slots=True)
class SparkWriter:
    """Spark's own file sink."""

    format: str
    path: str
    partition_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outbox:
    """The application's outbox, whose rows the dispatcher sends."""

    effect: Effect


@dataclass(frozen=True, slots=True)
class PythonWriter:
    """A class of the user's, in this process. `marked` says whether it stores marks, which tell what batch it has."""

    writer: Writer
    marked: bool


WrittenBy = Destination | SparkWriter | Outbox | PythonWriter


@dataclass(frozen=True, kw_only=True)
class Sink:
    """Where rows go besides topics; the values that `hr.sinks` makes."""

    @property
    def label(self) -> str:
        """Its name in drawings, progress and errors: the kind of sink and which one. Contains no secret."""
        raise NotImplementedError

    @property
    def written_by(self) -> WrittenBy:
        """What writes the rows; the runtime knows nothing else of the sink's system."""
        raise NotImplementedError

    def reset(self, output: Output, node: Node) -> str:
        """What a reset does to the existing rows, as a sentence. Raises if it can't be done."""
        raise NotImplementedError

    def check(self, node: Node, where: Where) -> None:
        """Raises if the node can't be written there."""

    def key(self, node: Node, where: Where) -> tuple[str, ...]:
        """The columns that can't be null there; none if rows are only added."""
        return ()

    @property
    def again(self) -> bool:
        """Whether it is only at least once: a batch may be written again after a crash."""
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
        """The template by which two rows are the same, as pairs of text and column; None if there is none."""
        return None
