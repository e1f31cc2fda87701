"""A source beside an application: what it yields is in the topic once, and what goes wrong has a name."""

from __future__ import annotations

import json
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headrace.broker import embedded, peek, topics
from headrace.errors import PlanError, RunError, StateError
from headrace.gateways import positions
from headrace.gateways.encode import BadYield
from headrace.gateways.positions import BadPosition, Stored
from headrace.gateways.service import Service, SourceFailed
from headrace.gateways.session import Fenced, Limits
from headrace.runtime import dead
from headrace.sources import Reader, Record, custom
from tests.conftest import Broker, unused_port
from tests.gateways.ticks import Ticks

Read = Callable[[Any], Iterator[Any]]
SECONDS = 60.0


class Given(Reader):
    """Reads by the function of a test."""

    def __init__(self, function: Read) -> None:
        self.function = function

    def read(self, after: Any) -> Iterator[Any]:
        return self.function(after)


def service(broker: Broker, app: str, read: Read | Reader, topic: str, **more: Any) -> Service:
    options: dict[str, Any] = {name: more.pop(name) for name in ("timestamps", "name") if name in more}
    source = custom(read if isinstance(read, Reader) else Given(read), topic=topic, **options)
    return Service(app, source.feeds, broker.connection, **{"backoff": (0.05, 0.05), **more})


def values(broker: Broker, topic: str) -> list[bytes | None]:
    return [record.value for record in peek.read(broker.connection, topic)]


def failure(broker: Broker, topic: str, read: Read, **more: Any) -> RunError:
    with service(broker, f"a-{topic}", read, topic, **more) as running, pytest.raises(RunError) as caught:
        running.drain(SECONDS)
    return caught.value


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_records_arrive_as_they_were_yielded_and_the_next_run_goes_on_after_the_last(broker: Broker, topic: str) -> None:
    asked: list[Any] = []

    def read(after: Any) -> Iterator[Record]:
        asked.append(after)
        at = datetime(2026, 1, 2, tzinfo=UTC)
        if after is None:
            yield Record(b"raw", key="k", headers=[("h", "v")], timestamp=at)
            yield Record("text", timestamp=at, position=b"\x00one")
        yield Record({"n": 1, "at": at}, timestamp=1_700_000_000_000, position={"file": "b", "line": len(asked)})

    topics.create(broker.connection, topic, partitions=1, config={"message.timestamp.type": "CreateTime"})
    for _ in range(2):
        with service(broker, f"a-{topic}", read, topic, timestamps="record") as running:
            assert running.drain(SECONDS)
    first, second, *rest = peek.read(broker.connection, topic)
    assert (first.value, first.key, first.headers) == (b"raw", b"k", (("h", b"v"),))
    assert first.time == datetime(2026, 1, 2, tzinfo=UTC)
    assert second.value == b"text"
    assert [json.loads(r.value or b"") for r in rest] == [{"n": 1, "at": "2026-01-02T00:00:00+00:00"}] * 2
    assert asked == [None, {"file": "b", "line": 1}]


def test_a_live_source_is_caught_up_when_it_has_nothing_and_what_it_yields_later_is_committed_in_time(
    broker: Broker, topic: str
) -> None:
    more = threading.Event()

    def read(after: Any) -> Iterator[Record | None]:
        yield Record("first", position=1)
        while not more.is_set():
            yield None
        yield Record("second", position=2)
        # It waits without a word, as a blocking client does; what it gave before must not wait with it.
        over.wait()

    over = threading.Event()
    running = service(broker, f"a-{topic}", read, topic)
    running.start()
    assert running.drain(SECONDS)
    assert values(broker, topic) == [b"first"]
    more.set()
    until(lambda: running.progress.counters.in_topic == 2)
    assert sorted(values(broker, topic), key=str) == [b"first", b"second"]
    assert not running.stop(0.1)
    over.set()
    assert running.stop()


def test_the_account_closes_at_every_look(broker: Broker, topic: str) -> None:
    seen: list[Any] = []
    with service(broker, f"a-{topic}", Ticks(30_000), topic, limits=Limits(records=500)) as running:
        while not running.caught_up:
            seen.append(running.progress.counters)
        running.check()
    assert all(look.closes for look in seen)
    assert len({look.in_topic for look in seen}) > 2
    assert (running.progress.counters.received, running.progress.counters.in_topic) == (30_000, 30_000)
    assert "30,000 records" in str(running.progress)
    assert "0 behind" in str(running.progress)


def test_a_source_that_raises_is_started_again_and_nothing_is_lost_or_doubled(broker: Broker, topic: str) -> None:
    asked: list[Any] = []

    def read(after: Any) -> Iterator[Record]:
        asked.append(after)
        for n in range((after or 0) + 1, 10):
            if n == 5 and len(asked) == 1:
                raise OSError("the line is cut")
            yield Record(str(n), position=n)

    topics.create(broker.connection, topic, partitions=1)
    said: list[str] = []
    with service(broker, f"a-{topic}", read, topic, say=said.append) as running:
        assert running.drain(SECONDS)
    assert values(broker, topic) == [str(n).encode() for n in range(1, 10)]
    assert asked[0] is None
    assert len(asked) == 2
    assert "raised OSError after position 4: the line is cut" in said[0]
    assert "restarting in" in said[0]
    assert running.progress.counters.received == 9


def test_a_source_that_goes_on_raising_ends_with_its_line_and_position(broker: Broker, topic: str) -> None:
    def read(after: Any) -> Iterator[Record]:
        if after is None:
            yield Record("one", position="p1")
        raise ValueError("broken")

    error = failure(broker, topic, read)
    assert isinstance(error, SourceFailed)
    assert "raised ValueError" in error.message
    assert "broken" in error.message
    assert error.where is not None
    assert Path(error.where.file).name == "test_service.py"
    assert error.where.code == 'raise ValueError("broken")'


@pytest.mark.parametrize(
    ("yielded", "kind", "message"),
    [
        ([Record("a", position=1), Record("b", position=1)], BadPosition, "position 1 came twice"),
        ([Record("a", position=2), Record("b", position=1)], BadPosition, "position 1 came after 2"),
        ([Record("a", position="x"), Record("b", position="x")], BadPosition, "position 'x' came twice"),
        ([Record("a", position=[(1, 2)])], BadPosition, "does not survive a round trip through JSON"),
        ([Record("a", position={1, 2})], BadPosition, "can't be stored as JSON"),  # type: ignore[arg-type]
        ([Record("a", position="x" * 200_000)], BadPosition, "too large"),
        ([Record("a", position=1), Record("b")], BadPosition, "the records after 1 have no position"),
        ([{"n": 1}], BadYield, "yielded a dict, not a record"),
        ([Record(5, position=1)], BadYield, "whose value is of type int"),  # type: ignore[arg-type]
        ([Record({"n": object()}, position=1)], BadYield, "is not JSON"),
        ([Record({"n": float("nan")}, position=1)], BadYield, "is not JSON"),
        ([Record("a", key=5, position=1)], BadYield, "whose key is of type int"),  # type: ignore[arg-type]
        ([Record("a", headers={"a": 1}, position=1)], BadYield, "the headers"),  # type: ignore[arg-type]
        ([Record("a", headers={"ab": b"c"}, position=1)], BadYield, "the headers"),  # type: ignore[arg-type]
        ([Record("a", headers=[("\ud800", b"c")], position=1)], BadYield, "the headers"),
        ([Record("a", headers=[("a\0b", b"c")], position=1)], BadYield, "the headers"),
        ([Record("\ud800", position=1)], BadYield, "a record's text that is not Unicode"),
        ([Record("a", key="\ud800", position=1)], BadYield, "a record's key that is not Unicode"),
        ([Record("a", timestamp=1, position=1)], BadYield, "the log sets those of its topic"),
    ],
)
def test_what_a_source_must_not_yield_ends_it_at_its_line(
    broker: Broker, topic: str, yielded: list[Any], kind: type[RunError], message: str
) -> None:
    def read(after: Any) -> Iterator[Any]:
        yield from yielded

    error = failure(broker, topic, read)
    assert isinstance(error, kind)
    assert message in error.message
    assert error.where is not None
    assert Path(error.where.file).name == "test_service.py"


def test_a_source_that_ignores_where_it_stood_is_refused(broker: Broker, topic: str) -> None:
    def read(after: Any) -> Iterator[Record]:
        yield Record("again", position=7)

    with service(broker, f"a-{topic}", read, topic) as running:
        assert running.drain(SECONDS)
    assert "position 7 came twice" in failure(broker, topic, read).message
    assert values(broker, topic) == [b"again"]


def test_a_source_may_change_its_position_in_place_and_nothing_is_lost(broker: Broker, topic: str) -> None:
    looked = threading.Event()

    def read(after: Any) -> Iterator[Record | None]:
        place = after or {"line": 0}
        while place["line"] < 3:
            place["line"] += 1
            if place["line"] == 2 and not looked.is_set():
                # The first record is committed meanwhile, with the place that it had.
                until(lambda: running.progress.counters.in_topic == 1)
                looked.set()
                raise ConnectionError
            yield Record(str(place["line"]), position=place)

    with service(broker, f"a-{topic}", read, topic) as running:
        assert running.drain(SECONDS)
    assert sorted(values(broker, topic), key=str) == [b"1", b"2", b"3"]
    stored = positions.read(broker.connection, f"a-{topic}", topic, seconds=30)
    assert stored is not None
    assert (stored.position, stored.records) == ({"line": 3}, 3)


def test_records_that_never_have_a_position_are_reported_by_the_time_their_transaction_is_over(
    broker: Broker, topic: str
) -> None:
    def read(after: Any) -> Iterator[Record | None]:
        yield Record("1")
        while True:
            yield None

    error = failure(broker, topic, read, limits=Limits(timeout=1.0))
    assert isinstance(error, SourceFailed)
    assert "yielded 1 records after its beginning, and for 1 seconds none of them had a position" in str(error)
    assert values(broker, topic) == []


def test_a_second_instance_takes_over_and_the_first_stops_with_an_error(broker: Broker, topic: str) -> None:
    go = threading.Event()

    def read(after: Any) -> Iterator[Record | None]:
        yield Record("a", position=1)
        while not go.is_set():
            yield None
        yield Record("b", position=2)

    def second(after: Any) -> Iterator[Record | None]:
        assert after == 1
        yield Record("c", position=2)

    topics.create(broker.connection, topic, partitions=1)
    with service(broker, f"a-{topic}", read, topic) as old:
        assert old.drain(SECONDS)
        with service(broker, f"a-{topic}", second, topic) as new:
            assert new.drain(SECONDS)
        go.set()
        old._threads[0].join(SECONDS)
        with pytest.raises(Fenced, match="another instance of the source"):
            old.check()
    assert values(broker, topic) == [b"a", b"c"]


def test_a_record_that_is_too_large_is_a_dead_letter_of_the_same_transaction(broker: Broker, topic: str) -> None:
    topics.create(broker.connection, topic, partitions=1, config={"max.message.bytes": "20000"})

    def read(after: Any) -> Iterator[Record]:
        for n in range(1, 400):
            yield Record("x" * (30_000 if n == 7 else 100), key=str(n), headers=[("h", b"v")], position=n)

    with service(broker, f"a-{topic}", read, topic) as running:
        assert running.drain(SECONDS)
    counters = running.progress.counters
    assert (counters.in_topic, counters.refused, counters.closes) == (398, 1, True)
    assert len(values(broker, topic)) == 398
    (dead_letter,) = dead.read(broker.connection, f"a-{topic}")
    assert (dead_letter.topic, dead_letter.partition, dead_letter.offset, dead_letter.query) == (
        topic,
        None,
        6,
        f"source:{topic}",
    )
    assert (dead_letter.record.key, dead_letter.record.headers, len(dead_letter.record.value or b"")) == (
        b"7",
        (("h", b"v"),),
        30_000,
    )
    assert "too large for the topic" in dead_letter.cause


def test_a_record_too_large_for_the_dead_letters_too_is_an_error_with_its_position(broker: Broker, topic: str) -> None:
    topics.create(broker.connection, f"headrace.a-{topic}.dead", partitions=1, config={"cleanup.policy": "compact"})
    error = failure(broker, topic, lambda after: iter([Record(b"x" * 2_000_000, position=12)]))
    assert "its position is 12" in error.message
    assert f"headrace topics alter {topic} --config max.message.bytes=" in (error.fix or "")


def test_a_source_is_not_asked_for_more_than_there_is_room_for(broker: Broker, topic: str) -> None:
    pulled = 0

    def read(after: Any) -> Iterator[Record]:
        nonlocal pulled
        for n in range((after or 0) + 1, 1001):
            pulled = n
            yield Record(b"%d" % n * 1 + b"x" * 100_000, position=n)

    pid = embedded.status(broker.config).pid
    assert pid is not None
    topics.create(broker.connection, topic, partitions=1)
    limits = Limits(queue=4 << 20, bytes=64 << 20, timeout=30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with service(broker, f"a-{topic}", read, topic, limits=limits) as running:
        until(lambda: pulled > 20)
        os.kill(pid, signal.SIGSTOP)
        try:
            held = -1
            while held != pulled:
                held = pulled
                time.sleep(0.5)
            room = pulled - running.progress.counters.in_topic
        finally:
            os.kill(pid, signal.SIGCONT)
        assert held < 1000
        assert room * 100_000 < 80 << 20
        assert running.drain(SECONDS * 2)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000
    assert [int((value or b"").rstrip(b"x")) for value in values(broker, topic)] == list(range(1, 1001))


def test_a_source_survives_a_restart_of_the_broker(tmp_path: Path, topic: str) -> None:
    from headrace.config import Config

    config = Config.load({"port": str(unused_port())}, cwd=tmp_path, environ={})
    own = Broker(config, embedded.up(config))
    try:
        go = threading.Event()

        def read(after: Any) -> Iterator[Record | None]:
            for n in range((after or 0) + 1, 20_001):
                yield Record(str(n), position=n)
                if n == 5_000:
                    # Committed or in the air, as it comes.
                    go.set()
                    time.sleep(0.1)

        topics.create(own.connection, topic, partitions=1)
        with service(own, "a", read, topic, backoff=(1, 2, 4, 8, 16, 30), limits=Limits(records=1000)) as running:
            assert go.wait(SECONDS)
            pid = embedded.status(config).pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            embedded.revive(config)
            assert running.drain(SECONDS * 2)
        assert values(own, topic) == [str(n).encode() for n in range(1, 20_001)]
    finally:
        embedded.down(config)


def test_a_topic_that_was_created_again_is_refused(broker: Broker, topic: str) -> None:
    with service(broker, f"a-{topic}", Ticks(10), topic) as running:
        assert running.drain(SECONDS)
    topics.delete(broker.connection, topic)
    error = failure(broker, topic, Ticks(20).read)
    assert isinstance(error, StateError)
    assert "was deleted and created again" in error.message


def test_another_sources_open_transaction_hides_no_position(broker: Broker, topic: str) -> None:
    app = f"a-{topic}"
    positions.ensure(broker.connection, app)
    other = broker.connection.producer(transactional_id=f"{topic}-other")
    other.init_transactions(SECONDS)
    other.begin_transaction()
    other.produce(positions.topic(app), b"{}", b"other", partition=0)
    other.flush(SECONDS)
    mine = broker.connection.producer(transactional_id=f"{topic}-mine")
    mine.init_transactions(SECONDS)
    mine.begin_transaction()
    mine.produce(positions.topic(app), positions.to_bytes(Stored(5)), b"mine", partition=0)
    mine.commit_transaction(SECONDS)
    timer = threading.Timer(1.0, other.abort_transaction, [SECONDS])
    timer.start()
    found = positions.read(broker.connection, app, "mine", seconds=SECONDS)
    timer.join()
    assert found is not None
    assert found.position == 5


@pytest.mark.parametrize("position", [0, -1, 1.5, "é", b"\x00\xff", [1, "a"], {"bytes": "AA=="}, {"dict": {}}, {"a": [None]}])
def test_a_position_comes_back_as_it_was(position: Any) -> None:
    stored = Stored(position, 3, 2, "before", "id")
    assert positions.from_bytes(positions.to_bytes(stored), "n") == stored


def test_a_value_that_is_not_a_reader_is_refused_at_its_line() -> None:
    with pytest.raises(PlanError, match="Ticks is a class, not a reader"):
        custom(Ticks, topic="t")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="a list is not a reader"):
        custom([], topic="t")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="not a valid topic name"):
        custom(Ticks(1), topic="a b")
    with pytest.raises(PlanError, match="timestamps"):
        custom(Ticks(1), topic="t", timestamps="mine")  # type: ignore[arg-type]
