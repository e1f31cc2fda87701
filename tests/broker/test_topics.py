from __future__ import annotations

import socket

import pytest

from headrace.broker import groups, send, topics
from headrace.broker.client import Connection
from headrace.errors import BrokerError, TopicError


def test_a_created_topic_is_listed_described_and_gone_once_deleted(broker, topic: str) -> None:
    connection = broker.connection
    topics.create(connection, topic, partitions=2, config={"cleanup.policy": "compact"})
    assert topics.exists(connection, topic)
    send.send(connection, topic, send.rows([{"k": "a"}, {"k": "b"}, {"k": "c"}], key="k"))
    assert topics.Topic(topic, 2, 3) in topics.listing(connection)
    described = topics.describe(connection, topic)
    assert described.config == {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}
    assert [p.begin for p in described.partitions] == [0, 0]
    assert sum(p.end for p in described.partitions) == 3
    topics.delete(connection, topic)
    assert not topics.exists(connection, topic)


def test_the_default_is_four_partitions(broker, topic: str) -> None:
    topics.create(broker.connection, topic)
    assert topics.require(broker.connection, topic) == 4


def test_a_deleted_topic_can_be_created_again_empty(broker, topic: str) -> None:
    for _ in range(3):
        topics.create(broker.connection, topic, partitions=1)
        assert send.send(broker.connection, topic, send.rows([{"n": 1}])).records == 1
        assert topics.describe(broker.connection, topic).partitions[0].end == 1
        topics.delete(broker.connection, topic)


def test_ensure_creates_once(broker, topic: str) -> None:
    assert topics.ensure(broker.connection, topic)
    assert not topics.ensure(broker.connection, topic)


def test_a_topic_that_exists_is_not_created_again(broker, topic: str) -> None:
    topics.create(broker.connection, topic)
    with pytest.raises(TopicError, match=f"topic {topic} exists already"):
        topics.create(broker.connection, topic)


def test_a_name_kafka_refuses_is_explained(broker) -> None:
    with pytest.raises(TopicError, match=r"can't create topic a b: .*invalid"):
        topics.create(broker.connection, "a b")


@pytest.mark.parametrize("ask", [topics.require, topics.describe, topics.delete])
def test_a_missing_topic_names_the_closest_and_the_command(broker, topic: str, ask) -> None:
    # Like no topic of another test.
    topic = f"{topic}-of-purchase-orders"
    topics.create(broker.connection, topic)
    with pytest.raises(
        TopicError, match=rf"there is no topic {topic}x at .*; did you mean {topic}\?\n  fix: headrace topics create {topic}x"
    ):
        ask(broker.connection, topic + "x")
    topics.delete(broker.connection, topic)


def test_kafkas_own_topics_are_hidden(broker, topic: str) -> None:
    topics.create(broker.connection, topic)
    groups.commit(broker.connection, "someone", {(topic, 0): 0})
    assert not [name for name in topics.names(broker.connection) if name.startswith("__")]
    assert "__consumer_offsets" in topics.names(broker.connection, internal=True)


def test_lag_is_the_end_minus_what_was_committed(broker, topic: str) -> None:
    connection = broker.connection
    topics.create(connection, topic, partitions=1)
    send.send(connection, topic, send.rows([{"n": n} for n in range(10)]))
    assert groups.lag(connection, topic) == []
    groups.commit(connection, topic, {(topic, 0): 4})
    (lag,) = groups.lag(connection, topic)
    assert (lag.committed, lag.end, lag.lag) == (4, 10, 6)
    groups.commit(connection, topic, {(topic, 0): 10})
    assert [lag.lag for lag in groups.lag(connection, topic)] == [0]


def test_lag_forgets_topics_that_are_gone(broker, topic: str) -> None:
    topics.create(broker.connection, topic)
    groups.commit(broker.connection, topic, {(topic, 0): 0})
    topics.delete(broker.connection, topic)
    assert groups.lag(broker.connection, topic) == []


def test_a_commit_to_a_missing_partition_is_an_error(broker, topic: str) -> None:
    topics.create(broker.connection, topic, partitions=1)
    with pytest.raises(BrokerError, match=f"can't commit .*{topic}"):
        groups.commit(broker.connection, topic, {(topic, 7): 0})


def test_a_broker_that_is_gone_is_a_broker_error(free_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "SECONDS", 1.0)
    with pytest.raises(BrokerError, match="no Kafka broker answers at"):
        topics.names(Connection(f"127.0.0.1:{free_port}"))


@pytest.mark.timeout(30)
def test_a_commit_does_not_wait_for_a_broker_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(BrokerError, match="can't commit offsets"):
        groups.commit(Connection(f"127.0.0.1:{mute.getsockname()[1]}"), "someone", {("topic", 0): 0})
