"""A broker, the application, what is fed to it and what comes out."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from faults.events import PARTITIONS, event
from faults.oracle import Found, Truth, violations
from headrace.broker import embedded
from headrace.config import Config

ROOT = Path(__file__).parent.parent
APP = Path(__file__).with_name("app.py")
DATABASE = Path(__file__).with_name("app_database.py")
LARGE = Path(__file__).with_name("app_large.py")
WIDE = Path(__file__).with_name("app_wide.py")
HEADRACE = (sys.executable, "-m", "headrace")
SECONDS = 180.0
IN, COPIES, SUMS, DEAD = "faults-events", "faults-copies", "faults-sums", "headrace.faults.dead"


class Void(Exception):
    """The fault did not strike what it was meant for: the try does not count."""


class Rig:
    """One application over one history of events. `code` is the tree whose product runs."""

    def __init__(
        self,
        seed: int,
        *,
        app: Path = APP,
        code: Path = ROOT,
        batch: int = 2000,
        oversized: float = 0.0,
        fill: int = 0,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.seed, self.app, self.code, self.batch = seed, app, code, batch
        self.oversized, self.fill = oversized, fill
        self.folder = Path(tempfile.mkdtemp(prefix="headrace-faults-"))
        self.state = self.folder / "state"
        self.env = {"HEADRACE_TRANSACTION_TIMEOUT": "1 minute", **(env or {})}
        self.config = Config.load({"port": str(_free_port())}, cwd=self.folder, environ={})
        self.address = embedded.up(self.config, say=lambda text: None)
        self.truth = Truth()
        self.fed = 0
        self._counter: Consumer | None = None
        self._counted = 0
        self._admin = AdminClient({"bootstrap.servers": self.address, "log_level": 2})
        for made in self._admin.create_topics([NewTopic(IN, PARTITIONS)]).values():
            made.result()

    def close(self) -> None:
        if self._counter is not None:
            self._counter.close()
        embedded.down(self.config, say=lambda text: None)

    def feed(self, count: int) -> None:
        """The next events of the history, in order."""
        producer = Producer({"bootstrap.servers": self.address, "enable.idempotence": True, "linger.ms": 20, "log_level": 2})
        events = [event(self.seed, i, self.oversized, self.fill) for i in range(self.fed, self.fed + count)]
        for one in events:
            while True:
                try:
                    producer.produce(IN, one.value, one.key, one.partition)
                    break
                except BufferError:
                    producer.poll(0.1)
        if producer.flush(SECONDS):
            raise RuntimeError("the broker does not take what is fed")
        self.fed += count
        self.truth.add(events)

    def feed_again(self, since: int) -> None:
        """What was fed since then, as it was: into the same partitions, in the same order."""
        known, again = self.truth, self.fed - since
        self.fed, self.truth = since, Truth()
        self.feed(again)
        self.truth = known

    def recreate(self, count: int) -> None:
        """The topic that is read is another one, with so many events that the oracle does not know."""
        for gone in self._admin.delete_topics([IN]).values():
            gone.result()
        while IN in self._admin.list_topics(timeout=30).topics:
            time.sleep(0.01)
        for made in self._admin.create_topics([NewTopic(IN, PARTITIONS)]).values():
            made.result()
        producer = Producer({"bootstrap.servers": self.address, "linger.ms": 20, "log_level": 2})
        for i in range(count):
            one = event(self.seed, 1_000_000_000 + i)
            producer.produce(IN, one.value, one.key, one.partition)
            producer.poll(0)
        producer.flush(SECONDS)

    def start(self, *, until: bool = False, point: str | None = None, state: str | None = None) -> Run:
        """`headrace run` in a process of its own; `point` is one of the kernel's, as "crash=COMMITTED:3"."""
        options = {"JAVA_TOOL_OPTIONS": f"-Dheadrace.{point}"} if point else {}
        command = [*HEADRACE, "run", str(self.app), "--broker", self.address, "--state", state or str(self.state)]
        return Run(command + (["--until", "now"] if until else []), self.folder, {**self.environment(), **options})

    def environment(self) -> dict[str, str]:
        """For a process of the tree that is tried."""
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(self.code / "src"), str(self.code))),
            "HEADRACE_BATCH": str(self.batch),
            "HEADRACE_MASTER": "local[2,4]",
            **self.env,
        }

    def finish(self, seconds: float = SECONDS) -> str:
        """Runs to the end of what was fed; what it said."""
        run = self.start(until=True)
        if run.wait(seconds) != 0:
            raise RuntimeError(f"the application does not come to its end:\n{run.said()}")
        return run.said()

    def count(self) -> int:
        """How many copies there are for a reader of committed records, counted on from where it was last."""
        if self._counter is None:
            topics = self._admin.list_topics(timeout=30).topics
            if COPIES not in topics:
                return 0
            self._counter = _reader(self.address)
            partitions = topics[COPIES].partitions
            self._counter.assign([TopicPartition(COPIES, number, 0) for number in partitions])
        while messages := self._counter.consume(10_000, 0.1):
            self._counted += sum(message.error() is None for message in messages)
        return self._counted

    def found(self) -> Found:
        copies = [(key, row["id"], row["twice"]) for _, key, row in self._rows(COPIES)]
        sums: dict[str, tuple[int, int]] = {}
        for _, key, row in self._rows(SUMS):
            if row is None:
                sums.pop(key)
            else:
                sums[key] = (row["n"], row["total"])
        letters = list(self._letters())
        unread = [(query, partition, offset) for query, topic, partition, offset, _ in letters if topic == IN]
        oversized = [json.loads(value)["id"] for _, topic, _, _, value in letters if topic == COPIES]
        return Found(copies, sums, unread, oversized, self.open())

    def _letters(self) -> Iterator[tuple[str, str, int, int, bytes]]:
        """Query, topic, partition, offset and bytes of each dead letter."""
        letters: dict[bytes, list[bytes]] = {}
        for message in self._messages(DEAD):
            # One without a value takes back those before it; others are there as often as they were written.
            values = letters.setdefault(message.key() or b"", [])
            values.clear() if message.value() is None else values.append(message.value())
        for key, values in letters.items():
            query, topic, partition, offset = key.decode().removeprefix("headrace.faults.").split("/")
            for value in values:
                yield query, topic, int(partition), int(offset), value

    def violations(self) -> list[str]:
        return violations(self.truth, self.found())

    def open(self) -> list[str]:
        """Partitions where a reader of committed records waits for a transaction."""
        topics = self._admin.list_topics(timeout=30).topics
        places = [
            TopicPartition(name, number)
            for name, topic in topics.items()
            if name.startswith(("faults-", "headrace."))
            for number in topic.partitions
        ]

        def ends(level: IsolationLevel) -> dict[str, int]:
            asked: dict[TopicPartition, Any] = self._admin.list_offsets(
                {place: OffsetSpec.latest() for place in places}, isolation_level=level
            )
            return {f"{place.topic}/{place.partition}": end.result().offset for place, end in asked.items()}

        committed, all_of_them = ends(IsolationLevel.READ_COMMITTED), ends(IsolationLevel.READ_UNCOMMITTED)
        return [place for place, end in all_of_them.items() if committed[place] != end]

    def _rows(self, topic: str) -> Iterator[tuple[int, str, Any]]:
        for message in self._messages(topic):
            yield message.partition() or 0, (message.key() or b"").decode(), json.loads(message.value() or b"null")

    def _messages(self, topic: str) -> Iterator[Any]:
        """All committed records of a topic, as they are now."""
        consumer = _reader(self.address, **{"enable.partition.eof": True})
        try:
            known = consumer.list_topics(timeout=30).topics
            count = len(known[topic].partitions) if topic in known else 0
            consumer.assign([TopicPartition(topic, number, 0) for number in range(count)])
            ended: set[int] = set()
            while len(ended) < count:
                message = consumer.poll(SECONDS)
                if message is None:
                    raise RuntimeError(f"{topic} can't be read")
                if message.error() is None:
                    yield message
                elif message.error().name() == "_PARTITION_EOF":
                    ended.add(message.partition() or 0)
                else:
                    raise KafkaException(message.error())
        finally:
            consumer.close()


class Run:
    """A process of the application and those that it started."""

    def __init__(self, command: list[str], folder: Path, env: Mapping[str, str]) -> None:
        self._log = folder / f"run-{time.monotonic_ns()}.log"
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                command, cwd=folder, env=dict(env), stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
            )

    def wait(self, seconds: float = SECONDS) -> int:
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise RuntimeError(f"the application hangs:\n{self.said()}") from None

    def said(self) -> str:
        return self._log.read_text()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.wait(60)

    def kill(self) -> None:
        """All of it, and not before all of it is gone."""
        everyone = [self.process.pid, *descendants(self.process.pid)]
        for pid in everyone:
            _signal(pid, signal.SIGKILL)
        self.process.wait()
        for pid in everyone:
            wait_for(lambda pid=pid: not _alive(pid), f"the end of process {pid}")

    def find(self, what: str) -> int:
        """The process id of a part: `driver` (Spark), `python`, `worker` (of Python functions)."""
        if self.process.poll() is not None:
            raise Void(f"the application ended by itself:\n{self.said()}")
        if what == "python":
            return self.process.pid
        for pid in reversed(descendants(self.process.pid)):
            line = _command(pid)
            if (what == "driver" and "java" in line.split("\0")[0]) or (what == "worker" and "pyspark.daemon" in line):
                return pid
        raise Void(f"there is no {what} to strike")


class Along:
    """Reads the copies while they are written, as any reader of committed records does."""

    def __init__(self, rig: Rig) -> None:
        self.seen: list[tuple[str, int, int]] = []
        self._stop = threading.Event()
        self._consumer = _reader(rig.address, **{"topic.metadata.refresh.interval.ms": 1000})
        self._consumer.subscribe([COPIES])
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._stop.is_set():
            message = self._consumer.poll(0.2)
            if message is not None and message.error() is None:
                row = json.loads(message.value() or b"null")
                self.seen.append(((message.key() or b"").decode(), row["id"], row["twice"]))

    def close(self) -> list[tuple[str, int, int]]:
        self._stop.set()
        self._thread.join()
        self._consumer.close()
        return self.seen


def _reader(address: str, **more: Any) -> Consumer:
    """Of committed records."""
    return Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "along",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "log_level": 2,
            **more,
        }
    )


@contextmanager
def rig(seed: int, **options: Any) -> Iterator[Rig]:
    made = Rig(seed, **options)
    try:
        yield made
    finally:
        made.close()


def descendants(pid: int) -> list[int]:
    """The processes that it started, and those that they did."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    for child in parents.get(pid, []):
        found += [child, *descendants(child)]
    return found


def strike(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    if not _alive(pid):
        raise Void(f"process {pid} ended before it was struck")
    _signal(pid, number)


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _command(pid: int) -> str:
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_text()
    except OSError:
        return ""


def wait_for(condition: Any, what: str, seconds: float = SECONDS) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {seconds:g} s for {what}")
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
