"""What is fed, from a seed: the i-th event is always the same. Now and then one that nobody can read."""

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

    @property
    def partition(self) -> int:
        return int(self.key) % PARTITIONS

    @property
    def value(self) -> bytes:
        if self.poison:
            return b'{"id": %d, "key": "%s", "amount": "a lot"' % (self.id, self.key.encode())
        return json.dumps({"id": self.id, "key": self.key, "amount": self.amount}).encode()


def event(seed: int, i: int) -> Event:
    chance = random.Random(seed * 1_000_003 + i)
    return Event(i, str(chance.randrange(KEYS)), chance.randint(-20, 100), chance.random() < 1 / 2000)
