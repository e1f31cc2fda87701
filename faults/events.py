"""What is fed, from a seed: the i-th event is always the same. Some can't be read by anybody, some become too large."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

KEYS, PARTITIONS = 200, 4


@dataclass(frozen=True, slots=True)
class Event:
    id: int
    key: str
    amount: int
    poison: bool
    oversized: bool = False
    fill: int = 0
    """Characters that the event has besides."""

    @property
    def partition(self) -> int:
        return int(self.key) % PARTITIONS

    @property
    def value(self) -> bytes:
        if self.poison:
            return b'{"id": %d, "key": "%s", "amount": "a lot"' % (self.id, self.key.encode())
        pad = {"pad": 2_000_000} if self.oversized else {}
        fill = {"fill": "x" * self.fill} if self.fill else {}
        return json.dumps({"id": self.id, "key": self.key, "amount": self.amount, **pad, **fill}).encode()


def event(seed: int, i: int, oversized: float = 0.0, fill: int = 0) -> Event:
    """`oversized` is the share of those that become too large, `fill` what each has besides, in characters."""
    chance = random.Random(seed * 1_000_003 + i)
    key, amount, poison = str(chance.randrange(KEYS)), chance.randint(-20, 100), chance.random() < 1 / 2000
    return Event(i, key, amount, poison, not poison and amount >= 0 and chance.random() < oversized, fill)
