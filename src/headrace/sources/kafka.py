"""Topics of Kafka."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, cast

from headrace.errors import PlanError, Where
from headrace.plan import checks, spelling
from headrace.plan.callsite import call_site
from headrace.plan.nodes import HEADERS, Read
from headrace.plan.source import Source

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOT_OURS = r"(?!headrace\.|__)"
"""A pattern never matches the topics that Headrace and Kafka make for themselves."""


@dataclass(frozen=True, slots=True)
class At:
    """From the first record that is not older than this, in microseconds since 1970."""

    time: int

    def __str__(self) -> str:
        return (_EPOCH + timedelta(microseconds=self.time)).isoformat(sep=" ").removesuffix("+00:00")


@dataclass(frozen=True, slots=True)
class Offsets:
    """From these offsets on: topic, partition, offset. Partitions that are not named are read from their beginning."""

    places: tuple[tuple[str, int, int], ...]

    def __str__(self) -> str:
        return ", ".join(f"{topic}-{partition} {offset}" for topic, partition, offset in self.places)


Start = Literal["earliest", "latest"] | At | Offsets
StartArgument = str | datetime | Mapping[int, int] | Mapping[str, Mapping[int, int]]


@dataclass(frozen=True, kw_only=True)
class Kafka(Source):
    """See `kafka`."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    start: Start = "earliest"
    headers: bool = False

    @property
    def label(self) -> str:
        return ", ".join(self.topics) if self.pattern is None else self.pattern

    @property
    def noun(self) -> str:
        return "topic"

    @property
    def title(self) -> str:
        if self.pattern is not None:
            return f"the topics that match {self.pattern!r}"
        return f"the topic{'s' if len(self.topics) > 1 else ''} {' and '.join(map(repr, self.topics))}"

    @property
    def regex(self) -> str | None:
        """What the names of topics must match as a whole; None if they are named one by one."""
        return None if self.pattern is None else f"{_NOT_OURS}(?:{self.pattern})"

    def reads(self, topic: str) -> bool:
        return topic in self.topics if self.regex is None else re.fullmatch(self.regex, topic) is not None

    @property
    def places(self) -> str:
        return "|".join(map(re.escape, self.topics)) if self.regex is None else self.regex

    def place(self, topic: str, partition: int, offset: int) -> tuple[str, str]:
        where = f"topic {topic}, partition {partition}, offset {offset}"
        return where, f"headrace peek {topic} --partition {partition} --from {offset} -n 1"

    def check(self, read: Read) -> None:
        if read.kind == "table" and read.version is None and len(self.topics) != 1:
            raise PlanError(
                f"the table {self.label!r} reads several topics, whose records have no common order",
                where=read.where,
                fix="name the column that tells which row is newer: version=…",
            )
        if read.kind == "table" and self.start != "earliest":
            raise PlanError(
                f"the table {self.label!r} would lack the rows that are older than its start",
                where=read.where,
                fix="leave start= out: a table is read from the beginning of its topic",
            )
        if read.kind == "table" and self.headers:
            raise PlanError(
                "headers=True is for streams only", where=read.where, fix="leave it out, or read the topic as a stream"
            )

    @property
    def hidden(self) -> tuple[str, ...]:
        return (HEADERS,) if self.headers else ()

    @property
    def skips(self) -> str | None:
        if self.start == "earliest":
            return None
        if self.start == "latest":
            return f'{self.label}, which has start="latest", only from its end: what was read of it is lost'
        return f'{self.label}, which has start="{self.start}", only from there: what was read before that is lost'

    @property
    def known_as(self) -> tuple[object, object]:
        read = self.topics[0] if len(self.topics) == 1 else self.pattern or self.topics
        return (read, HEADERS) if self.headers else read, self.start


@spelling.arguments
def kafka(
    topic: str | Sequence[str] | None = None,
    *,
    pattern: str | None = None,
    start: StartArgument = "earliest",
    headers: bool = False,
) -> Kafka:
    """Reads a topic, several (a list), or all whose names match a pattern: `kafka(pattern="trades-.*")`.

    Matching topics that are created later are read too; `_topic` is the name of an event's topic. `start` is where the first
    run starts: "earliest", "latest", a time (a datetime or ISO text, in UTC unless it names a zone), or offsets per partition:
    `{0: 1200, 1: 1187}`, for several topics `{"trades": {0: 1200}}`. With `headers`, the column `_headers` has the headers
    of each record: an array of structs of `key` and `value`.
    """
    where = call_site().where
    if (topic is None) == (pattern is None):
        raise PlanError("kafka() takes either a topic or a pattern", where=where, fix='write kafka("trades")')
    names = () if topic is None else (topic,) if isinstance(topic, str) else tuple(topic)
    if topic is not None and not names:
        raise PlanError("kafka() needs a topic", where=where, fix='write kafka("trades")')
    for name in names:
        checks.topic(name, where)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise PlanError(f"the topic {twice!r} is named twice", where=where, fix="name it once")
    if pattern is not None:
        _pattern(pattern, where)
    return Kafka(topics=names, pattern=pattern, start=_start(start, names, where), headers=headers)


def _pattern(pattern: object, where: Where) -> None:
    try:
        re.compile(pattern if isinstance(pattern, str) else "(")
        # Flags such as (?i) can't stand inside of another expression.
        re.compile(f"(?:{pattern})")
    except re.error as e:
        raise PlanError(
            f"{pattern!r} is not a regular expression: {e}", where=where, fix='write for example pattern="trades-.*"'
        ) from None


def _start(start: object, names: tuple[str, ...], where: Where) -> Start:
    match start:
        case "earliest" | "latest" as known:
            return cast('Literal["earliest", "latest"]', known)
        case str():
            try:
                return _at(datetime.fromisoformat(start))
            except ValueError:
                pass
        case datetime():
            return _at(start)
        case Mapping():
            return _offsets(cast("Mapping[object, object]", start), names, where)
        case _:
            pass
    raise PlanError(
        f"start={start!r} is not known",
        where=where,
        fix='start is "earliest", "latest", a time such as "2026-01-31 12:00", or offsets per partition: {0: 1200, 1: 1187}',
    )


def _at(time: datetime) -> At:
    aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return At((aware - _EPOCH) // timedelta(microseconds=1))


def _offsets(start: Mapping[object, object], names: tuple[str, ...], where: Where) -> Offsets:
    """`{0: 12}` of the one topic, or `{"trades": {0: 12}}`."""
    by_topic = all(isinstance(key, str) for key in start)
    if not by_topic and len(names) != 1:
        raise PlanError("with several topics, offsets are per topic", where=where, fix='write start={"trades": {0: 1200}}')
    topics = start if by_topic else {names[0]: start}
    places: list[tuple[str, int, int]] = []
    for topic, partitions in topics.items():
        if topic not in names:
            raise PlanError(f"start= names the topic {topic!r}, which is not read", where=where, fix=_read(names))
        for partition, offset in cast("Mapping[object, object]", partitions).items() if isinstance(partitions, Mapping) else ():
            if not _whole(partition) or not _whole(offset):
                raise PlanError(
                    f"start={{{partition!r}: {offset!r}}} is not a partition and an offset",
                    where=where,
                    fix="both are whole numbers, 0 or more",
                )
            places.append((cast(str, topic), cast(int, partition), cast(int, offset)))
    if not places:
        raise PlanError("start= names no offset", where=where, fix="write start={0: 1200}, or leave it out")
    return Offsets(tuple(sorted(places)))


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _read(names: tuple[str, ...]) -> str:
    return f"it reads: {', '.join(names)}" if names else "with a pattern, start is a time, earliest or latest"
