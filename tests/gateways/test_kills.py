"""kill -9 while a source is being landed: every record is in the topic once, in order."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from uuid import uuid4

from headrace.broker import peek, topics
from headrace.gateways import positions
from tests.conftest import Broker

ROOT = Path(__file__).resolve().parents[2]
COUNT = 200_000
KILLS = 20
POINTS = ("before", "position", "after")


def test_every_record_is_in_the_topic_once_and_in_order_after_twenty_kills(broker: Broker, topic: str) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance, app = random.Random(seed), f"a-{uuid4().hex[:8]}"
    topics.create(broker.connection, topic, partitions=3)
    struck = 0
    while struck < KILLS:
        # Half of them at a point around the commit, half at any moment.
        point = POINTS[struck // 2 % 3] if struck % 2 else "none"
        struck += strike(broker, app, topic, point, chance)
    assert run(broker, app, topic, "none", "0").stdout.read().endswith("done\n")  # type: ignore[union-attr]
    landed(broker, topic, COUNT)
    stored = positions.read(broker.connection, app, topic, seconds=30)
    assert stored is not None
    assert (stored.position, stored.records) == (COUNT - 1, COUNT)


def run(broker: Broker, app: str, topic: str, point: str, at: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.gateways.ticks", broker.address, app, topic, str(COUNT), point, at]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def strike(broker: Broker, app: str, topic: str, point: str, chance: random.Random) -> bool:
    """False if it was over before: such a kill is void."""
    at = chance.randint(1, 4)
    with run(broker, app, topic, point, str(at)) as process:
        assert process.stdout is not None
        if point == "none":
            for _ in range(at):
                process.stdout.readline()
            time.sleep(chance.random() * 0.01)
            process.send_signal(signal.SIGKILL)
        rest = process.stdout.read()
        process.wait()
    assert "done" not in rest, "there must be records left after every kill"
    return process.returncode == -signal.SIGKILL


def landed(broker: Broker, topic: str, count: int) -> None:
    by_key: dict[bytes | None, list[int]] = defaultdict(list)
    for record in peek.read(broker.connection, topic):
        by_key[record.key].append(json.loads(record.value or b"")["n"])
    assert sorted(n for numbers in by_key.values() for n in numbers) == list(range(count))
    for numbers in by_key.values():
        assert numbers == sorted(numbers)
