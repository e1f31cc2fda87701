"""A source that you write in Python: a class that yields records with positions, written to a topic exactly once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from headrace.errors import PlanError, Where
from headrace.plan import checks, spelling
from headrace.plan.callsite import call_site
from headrace.plan.source import Feed
from headrace.sources.kafka import Kafka

Position = str | bytes | int | float | list[Any] | dict[str, Any]
Value = bytes | str | dict[str, Any] | None
Timestamps = Literal["log", "record"]


class Record(NamedTuple):
    """A record that a source yields.

    `value` is bytes, text, a dict (which becomes JSON) or None (which deletes the key from a table). `position` is where
    to resume after this record; a record without one is written in the same transaction as the next that has one.
    """

    value: Value
    key: bytes | str | None = None
    timestamp: datetime | int | None = None
    """A datetime with a time zone, or milliseconds since 1970; for `custom(…, timestamps="record")`."""
    headers: Sequence[tuple[str, bytes | str | None]] = ()
    position: Position | None = None


class Reader(ABC):
    """Reads a system that Headrace does not know."""

    @abstractmethod
    def read(self, after: Any) -> Iterable[Record | None]:
        """Yields the records after a position: the one stored last, or None at the very first start.

        While there is nothing new, yield None at least once a second. Returning ends the data. It runs in a thread of its own;
        after a failure it is called again, with the stored position.
        """

    def lag(self, position: Any) -> str | None:
        """How far this position is behind the source's end, as text for the progress display; None if unknown."""
        return None


@dataclass(frozen=True, kw_only=True)
class Custom(Kafka):
    """See `custom`. Queries read the topic; a service beside them (gateways/service.py) writes it."""

    reader: Reader = field(compare=False)
    reader_id: int = field(init=False, repr=False)
    """Two readers are two sources, whatever they say when they are compared."""
    name: str
    timestamps: Timestamps = "log"
    where: Where = field(compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reader_id", id(self.reader))

    @property
    def feeds(self) -> Feed:
        return Feed(self.name, self.topics[0], self.timestamps, self.reader, self.where)


@spelling.arguments
def custom(reader: Reader, *, topic: str, name: str | None = None, timestamps: Timestamps = "log") -> Custom:
    """Your own source: what `reader` yields is written to the topic, each record once, even after a crash.

    The position is stored under `name`, by default the topic's name. With `timestamps="record"` records keep their own
    timestamps; otherwise the log sets them.
    """
    where = call_site().where
    if isinstance(reader, type) and issubclass(reader, Reader):
        raise PlanError(
            f"{reader.__name__} is a class, not a reader", where=where, fix=f"write custom({reader.__name__}(…), …)"
        )
    if not isinstance(reader, Reader):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(
            f"a {type(reader).__name__} is not a reader",
            where=where,
            fix="write a class with read(self, after): hr.sources.Reader",
        )
    checks.one_of("timestamps", timestamps, ("log", "record"), where)
    checked = checks.topic(topic, where)
    return Custom(
        reader=reader,
        topics=(checked,),
        name=checks.name(checked if name is None else name, "source", where),
        timestamps=timestamps,
        where=where,
    )
