"""What a source is to the plan: the interface of the values that `hr.sources` makes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.errors import Where
from headrace.plan.format import Format

if TYPE_CHECKING:
    from headrace.plan.nodes import Read
    from headrace.sources.custom import Reader, Timestamps


@dataclass(frozen=True, slots=True)
class Feed:
    """What fills a source's topic, beside the queries: a reader, whose position is stored under `name`."""

    name: str
    topic: str
    timestamps: Timestamps
    reader: Reader = field(compare=False)
    where: Where = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where records come from; the values that `hr.sources` makes."""

    @property
    def label(self) -> str:
        """Its name in drawings, progress, errors and state. Contains no secret."""
        raise NotImplementedError

    @property
    def noun(self) -> str:
        """What it is, in the drawing of a plan."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """Its name within a sentence: the topic 'trades'."""
        raise NotImplementedError

    @property
    def identity(self) -> str:
        """What a checkpoint is compared by: sources with the same label can differ in it."""
        return self.label

    @property
    def places(self) -> str:
        """A regular expression, for Python and Java, that matches `_topic` of its records."""
        raise NotImplementedError

    def place(self, topic: str, partition: int, offset: int) -> tuple[str, str]:
        """Where a record is, in words, and the command that shows it."""
        raise NotImplementedError

    def check(self, read: Read) -> None:
        """Raises at the user's line if it can't be read this way."""

    def reads(self, topic: str) -> bool:
        """Whether it reads this topic, which a query writes."""
        return False

    @property
    def feeds(self) -> Feed | None:
        """What fills its topic, if that is for the application to do."""
        return None

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns that it has besides those of every source."""
        return ()

    @property
    def format(self) -> Format | None:
        """The format of its records, if the source determines it."""
        return None

    @property
    def in_batches(self) -> bool:
        """Whether it can be read in batches only, not in real-time mode."""
        return False

    @property
    def skips(self) -> str | None:
        """What a run that starts over does not read again, as a phrase; None if it reads everything."""
        return None

    @property
    def known_as(self) -> tuple[object, object]:
        """Identifies it in the names of internal topics, which must never change: what is read, and from where."""
        raise NotImplementedError
