"""A session without a broker: what it does when its producer fails, and which position it stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.gateways.encode import BadYield
from headrace.gateways.service import Service
from headrace.gateways.session import Broken, Limits, Session
from headrace.sources import Reader, Record, custom


class Producer:
    """Takes everything."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes | None]] = []
        self.purged = False

    def begin_transaction(self) -> None: ...

    def commit_transaction(self, timeout: float) -> None: ...

    def abort_transaction(self, timeout: float) -> None: ...

    def poll(self, timeout: float) -> int:
        return 0

    def purge(self, **_: Any) -> None:
        self.purged = True

    def produce(self, topic: str, value: bytes | None, *_: Any, **__: Any) -> None:
        self.sent.append((topic, value))


class Nothing(Reader):
    def read(self, after: Any) -> list[Record | None]:
        return []


@pytest.fixture
def producer() -> Producer:
    return Producer()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, producer: Producer) -> Callable[[], Session]:
    """A session over the producer, whose topic is new."""
    monkeypatch.setattr("headrace.gateways.session.topics.largest", lambda *_: 1_000_000)
    monkeypatch.setattr("headrace.gateways.session.topics.ids", lambda _, names: dict.fromkeys(names, "id"))
    monkeypatch.setattr("headrace.gateways.session.positions.read", lambda *_, **__: None)
    monkeypatch.setattr(Session, "_fence", lambda _: producer)
    connection: Any = None
    return lambda: Session(connection, "app", custom(Nothing(), topic="t").feeds, Limits(), lambda: False)


def test_a_session_that_can_not_get_a_new_producer_is_closed_all_the_same(
    opened: Callable[[], Session], producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened()
    session.add(Record("a", position=1))
    session._trouble = True

    def refuse(_: Session) -> Any:
        raise Broken("no broker")

    monkeypatch.setattr(Session, "_fence", refuse)
    assert session.commit().position == 1
    with pytest.raises(Broken, match="no broker"):
        session.renew()
    session.close()
    assert producer.purged


def test_what_was_committed_counts_even_if_the_next_producer_fails(
    opened: Callable[[], Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened()
    connection: Any = None
    service = Service("app", custom(Nothing(), topic="t").feeds, connection)
    session.add(Record("a", position=1))
    service._received = 1
    session._trouble = True
    monkeypatch.setattr(Session, "renew", lambda _: (_ for _ in ()).throw(Broken("no broker")))
    with pytest.raises(Broken):
        service._commit(session)
    service._roll_back(session)
    assert service.progress.counters.in_topic == 1
    assert service.progress.counters.again == 0


def test_a_position_is_the_one_that_was_yielded_whatever_the_reader_does_with_it_later(
    opened: Callable[[], Session],
) -> None:
    session, place = opened(), {"file": "a", "lines": [1]}
    session.add(Record("a", position=place))
    place["lines"] = [2]
    assert session.commit().position == {"file": "a", "lines": [1]}
    # The same object is another position now.
    session.add(Record("b", position=place))
    assert session.commit().position == {"file": "a", "lines": [2]}


@pytest.mark.parametrize("record", [Record("\ud800", position=1), Record("a", key="\ud800", position=1)])
def test_text_that_is_not_unicode_is_a_bad_record_of_the_source(opened: Callable[[], Session], record: Record) -> None:
    with pytest.raises(BadYield, match="that is not Unicode"):
        opened().add(record)
