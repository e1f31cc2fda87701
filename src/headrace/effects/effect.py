"""What all effects have in common: a name, an id for each row, a policy for doubt; and the outcomes of an attempt."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol, cast

from headrace.effects import template
from headrace.effects.rate import Rate
from headrace.errors import PlanError, Where
from headrace.plan import checks
from headrace.plan.nodes import Node, Sink
from headrace.secrets import Secret

OnDoubt = Literal["at_most_once", "at_least_once"]


@dataclass(frozen=True, slots=True)
class Sent:
    """The receiver has it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The receiver does not have it, and never will."""

    cause: str


@dataclass(frozen=True, slots=True)
class Later:
    """The receiver does not have it; this row may go another time. Others may go now."""

    cause: str


@dataclass(frozen=True, slots=True)
class Away:
    """The receiver does not have it, nor would it take another: all wait. It is no attempt of this row."""

    cause: str
    seconds: float = 0.0
    """How long the receiver asked us to wait."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Nobody knows whether the receiver has it."""

    cause: str


Outcome = Sent | Refused | Later | Away | Doubt


@dataclass(frozen=True)
class Item:
    """One row to be sent."""

    id: str
    row: str
    """As JSON."""

    @cached_property
    def values(self) -> dict[str, Any]:
        """ValueError if the row is not a JSON object."""
        return _object(json.loads(self.row))

    @cached_property
    def texts(self) -> dict[str, Any]:
        """For templates: numbers with a fraction stay as they are written."""
        return _object(json.loads(self.row, parse_float=str))


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"it is a {type(value).__name__}")
    return cast("dict[str, Any]", value)


class Sender(Protocol):
    """Sends rows, one at a time; it may keep a connection from one to the next."""

    def send(self, item: Item) -> Outcome: ...

    def close(self) -> None:
        """Lets go of connections; the next row opens them again."""
        ...


@dataclass(frozen=True, kw_only=True)
class Effect(Sink, ABC):
    """What a row becomes. A value: nothing is opened before `sender` is called."""

    name: str
    id: str | None
    on_doubt: OnDoubt
    rate: Rate | None
    retries: int
    where: Where = field(compare=False, repr=False)

    @property
    def label(self) -> str:
        return self.name

    def check(self, node: Node, where: Where) -> None:
        if node.kind == "table":
            raise PlanError(
                f"{self.name} would send every update of this table",
                where=where,
                fix='send each window once: window(…, emit="final"); or every change: table.changes().to(…)',
            )
        checks.exist(node, self.columns, where)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the templates name."""
        found = (column for text in (self.id, *self.templates) if text for column in template.template_columns(text))
        return tuple(dict.fromkeys(found))

    @property
    def templates(self) -> tuple[str, ...]:
        return ()

    @property
    def secrets(self) -> tuple[Secret, ...]:
        return ()

    @property
    def together(self) -> int:
        """How many rows are taken in one commit: so many are in doubt after a crash."""
        return 1

    @abstractmethod
    def sender(self) -> Sender: ...

    @property
    def row_id(self) -> tuple[tuple[str, str | None], ...] | None:
        """The outbox's id of a row: the effect's name and the result of `id=`; None if it has no `id=`."""
        return None if self.id is None else ((f"{self.name}:", None), *template.parts(self.id))
