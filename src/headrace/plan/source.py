"""What a source is to the plan: the interface of the values that `hr.sources` makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import Where
from headrace.plan.format import Format

if TYPE_CHECKING:
    from headrace.plan.nodes import Read


@dataclass(frozen=True, slots=True)
class Feed:
    """A service that fills a topic: `reader` is where its records come from, and `name` what its position is stored under."""

    name: str
    topic: str
    reader: object
    where: Where


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where records come from; the values that `hr.sources` makes."""

    @property
    def label(self) -> str:
        """As it is drawn and named in progress, errors and state. No secret is in it."""
        raise NotImplementedError

    @property
    def noun(self) -> str:
        """What it is, in the drawing of a plan."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """As a sentence says it: the topic 'trades'."""
        raise NotImplementedError

    @property
    def identity(self) -> str:
        """What a checkpoint is of: another one of the same label is another source."""
        return self.label

    @property
    def places(self) -> str:
        """A regular expression, of Python and of Java: what `_topic` of its records is."""
        raise NotImplementedError

    def place(self, topic: str, partition: int, offset: int) -> tuple[str, str]:
        """Where a record is, in words, and the command that shows it."""
        raise NotImplementedError

    def check(self, read: Read) -> None:
        """Refuses what can't be read this way, at the user's line."""

    def reads(self, topic: str) -> bool:
        """Whether what a query writes to this topic is read here."""
        return False

    @property
    def feeds(self) -> Feed | None:
        """What fills the topic that is read here, if something beside the queries does."""
        return None

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns that it has besides those of every source."""
        return ()

    @property
    def format(self) -> Format | None:
        """How its records are written, where it is the source that says so."""
        return None

    @property
    def in_batches(self) -> bool:
        """Whether it can be read in batches only, not in real-time mode."""
        return False

    @property
    def skips(self) -> str | None:
        """What a run that starts over does not read again, if it does not read all that is there."""
        return None

    @property
    def known_as(self) -> tuple[object, object]:
        """What stands for it in the names of internal topics, which must never change: what is read, and from where on."""
        raise NotImplementedError
