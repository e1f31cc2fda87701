"""How often an effect may happen: "10 per minute" means at most ten in any minute, whenever that minute begins."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from headrace.errors import PlanError, Where
from headrace.plan import durations

_RATE = re.compile(r"\s*([1-9]\d*)\s+per\s+(.+?)\s*")
_MOST = 100_000


@dataclass(frozen=True, slots=True)
class Rate:
    count: int
    period: int
    """In microseconds."""


def checked(value: object, where: Where) -> Rate | None:
    if value is None:
        return None
    match = _RATE.fullmatch(value) if isinstance(value, str) else None
    period = durations.parse(match[2] if match[2][0].isdigit() else f"1 {match[2]}") if match else None
    if match is None or not period:
        raise PlanError(f"rate={value!r} is not a rate", where=where, fix='write rate="10 per minute" or "1 per 5 seconds"')
    if int(match[1]) > _MOST:
        raise PlanError(f"rate={value!r} is too high", where=where, fix=f"at most {_MOST:,}; without rate there is no limit")
    return Rate(int(match[1]), period)


@dataclass(slots=True)
class Limit:
    """Remembers when the last ones were, in microseconds, and so how many may follow now."""

    rate: Rate | None
    times: deque[int] = field(init=False)

    def __post_init__(self) -> None:
        self.times = deque(maxlen=self.rate.count if self.rate else 0)

    def remember(self, times: Iterable[int]) -> None:
        self.times.extend(sorted(times))

    def free(self, now: int, most: int) -> int:
        """How many may go now, of `most`."""
        if self.rate is None:
            return most
        self._forget(now, self.rate)
        return min(most, self.rate.count - len(self.times))

    def wait(self, now: int) -> int:
        """For how long none may go, in microseconds."""
        if self.rate is None or self.free(now, 1):
            return 0
        return self.times[0] + self.rate.period - now

    def _forget(self, now: int, rate: Rate) -> None:
        # A clock that was set back must not hold up everything until it has caught up.
        while self.times and not now - rate.period < self.times[0] <= now:
            self.times.popleft()
