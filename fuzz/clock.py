"""What a query knows of time, batch by batch, when a history is cut in a certain way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fuzz.histories import DAY, Cuts, History

NEVER = 1 << 62


@dataclass(slots=True)
class Clock:
    """`late` is the watermark by which a batch judges its events, that of the batch before; `ends` closes its windows.

    The watermark is the newest event time less the lateness, told in milliseconds; of several topics the slowest counts, and
    one without records holds it at 1970. It moves between batches. When nothing more comes and it has moved, there is one more
    batch, without records. After a restart a topic counts as without records until one is read.
    """

    late: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    batch_of: dict[int, int] = field(default_factory=dict)
    """The batch of each record, by its place in the history."""

    def ended(self, end: int, batch: int) -> int | None:
        """The first batch from this one on that closes what ends then."""
        return next((number for number in range(batch, len(self.ends)) if self.ends[number] >= end), None)


def clock(history: History, cuts: Cuts, topics: Sequence[str], lateness: Mapping[str, int], close_after: int | None) -> Clock:
    """Of a query that reads these topics; those with a lateness move its watermark."""
    found = Clock()
    newest: dict[str, int] = {}
    last: dict[str, int] = {}
    heard: dict[str, int] = {}
    mark = now = place = 0

    def batch(places: Sequence[int], times: Mapping[str, int]) -> None:
        nonlocal mark
        found.late.append(found.ends[-1] if found.ends else 0)
        found.ends.append(mark)
        for number in places:
            found.batch_of[number] = len(found.ends) - 1
        last.clear()
        last.update(times)
        for topic, time in times.items():
            newest[topic] = max(newest.get(topic, 0), time)
        if lateness and all(topic in newest for topic in lateness):
            mark = max(mark, min(newest[topic] // 1000 * 1000 - wait // 1000 * 1000 for topic, wait in lateness.items()))

    def settle() -> None:
        if found.ends and mark > found.ends[-1]:
            batch((), {})

    for part in range(len(history.parts)):
        for records in cuts.batches(history, part):
            mine = [(place + i, record) for i, record in enumerate(records) if record.topic in topics]
            place += len(records)
            times: dict[str, int] = {}
            for _, record in mine:
                if record.topic in lateness:
                    times[record.topic] = max(times.get(record.topic, 0), record.time)
            if mine:
                batch([number for number, _ in mine], times)
        now = max([now, *(record.logged for record in history.parts[part])])
        heard |= {record.topic: now for record in history.parts[part] if record.topic in lateness}
        settle()
        if part in cuts.crashes | cuts.restarts:
            # A query that starts again knows of a topic only what it reads from then on; after a crash its last batch first.
            newest = dict(last) if part in cuts.crashes else {}
        barrier = history.barriers[part]
        if barrier.to is not None:
            to = max(now, barrier.to)
            quiet = close_after is not None and heard and all(to - heard.get(topic, 0) >= close_after for topic in lateness)
            times = dict.fromkeys(lateness, to)
            if quiet:
                times = {topic: to + 100 * DAY + lateness[topic] for topic in lateness}
            now = to
            batch((), times)
            settle()
    return found
