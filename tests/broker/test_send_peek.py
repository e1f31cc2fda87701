from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from headrace.broker import peek, records, send, topics
from headrace.broker.records import Record, Stored
from headrace.cli import main
from headrace.errors import BadRecord, BrokerError, ConfigError, TopicError

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def one(broker, topic: str) -> str:
    """A topic with one partition: everything comes back in order."""
    topics.create(broker.connection, topic, partitions=1)
    return topic


def test_what_was_sent_comes_back_with_key_and_headers(broker, one: str) -> None:
    sent = [
        Record(b'{"a":1}', b"k", (("h", b"1"), ("h", b"2"))),
        Record(b"plain"),
        Record(None, b"k"),
        Record(b"\xff\x00", b"\xfe"),
        Record(b"", b""),
    ]
    assert send.send(broker.connection, one, sent).records == 5
    stored = list(peek.read(broker.connection, one))
    assert [Record(r.value, r.key, r.headers) for r in stored] == sent
    assert [r.offset for r in stored] == [0, 1, 2, 3, 4]
    assert stored[0].time is not None
    assert abs(stored[0].time - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_record_shown_as_json_can_be_sent_again(broker, one: str) -> None:
    sent = [Record(b'{"a":1.5}', b"k", (("h", b"x"),)), Record(b"plain"), Record(b"\xff", b"\xfe"), Record(None, b"gone")]
    send.send(broker.connection, one, sent)
    shown = [json.dumps(records.to_json(r)).encode() for r in peek.read(broker.connection, one)]
    assert list(send.lines(shown, form="records")) == sent


def test_json_lines_go_out_byte_for_byte_with_the_key_of_a_field() -> None:
    lines = [b'{"symbol": "A", "price": 1.50}\n', b"\n", b'{"symbol": 7}\r\n', b'{"symbol": {"x": 1}}']
    assert [(r.value, r.key) for r in send.lines(lines, key="symbol")] == [
        (b'{"symbol": "A", "price": 1.50}', b"A"),
        (b'{"symbol": 7}', b"7"),
        (b'{"symbol": {"x": 1}}', b'{"x":1}'),
    ]


def test_a_line_that_is_not_json_is_named_and_what_came_before_is_counted(broker, one: str) -> None:
    lines = [b'{"a":1}\n', b'{"a":2}\n', b"{bad\n", b'{"a":4}\n']
    with pytest.raises(
        BadRecord, match=r"(?s)not JSON: .*\(2 records before it were sent\)\n  at stdin:3: \{bad\n  fix: .*--raw"
    ):
        send.send(broker.connection, one, send.lines(lines))
    assert len(list(peek.read(broker.connection, one))) == 2


def test_any_line_is_text_when_sent_as_text() -> None:
    assert [r.value for r in send.lines([b"{bad\n", b"  x \n"], form="text")] == [b"{bad", b"  x "]


def test_a_missing_key_field_names_the_fields() -> None:
    with pytest.raises(BadRecord, match=r"there is no field symbl for the key; fields: symbol, price\n  at f:1"):
        list(send.lines([b'{"symbol":"A","price":1}'], key="symbl", name="f"))


def test_a_topic_is_created_only_when_asked(broker, topic: str) -> None:
    with pytest.raises(TopicError, match=f"there is no topic {topic}"):
        send.send(broker.connection, topic, [Record(b"x")])
    assert send.send(broker.connection, topic, [Record(b"x")], create=True).records == 1


def test_a_rate_is_kept(broker, one: str) -> None:
    sent = send.send(broker.connection, one, [Record(b"x")] * 21, rate=40)
    assert 0.5 <= sent.seconds < 2


def test_a_record_the_broker_refuses_is_an_error(broker, topic: str) -> None:
    topics.create(broker.connection, topic, partitions=1, config={"max.message.bytes": "1000"})
    with pytest.raises(BrokerError, match=f"sending to {topic} failed after 0 records"):
        send.send(broker.connection, topic, [Record(b"x" * 5000)])


def test_keys_land_where_java_puts_them(broker, topic: str) -> None:
    topics.create(broker.connection, topic, partitions=4)
    keys = [b"21", b"foobar", b"a-little-bit-long-string", b"abc"]
    send.send(broker.connection, topic, [Record(b"x", key) for key in keys])
    # toPositive(murmur2(key)) of Kafka's own UtilsTest.
    hashes = [-973932308, -790332482, -985981536, 479470107]
    expected = {key: (value & 0x7FFFFFFF) % 4 for key, value in zip(keys, hashes, strict=True)}
    assert {r.key: r.partition for r in peek.read(broker.connection, topic)} == expected


def test_reading_starts_at_an_offset_the_end_or_a_time(broker, one: str) -> None:
    send.send(broker.connection, one, send.rows([{"n": n} for n in range(5)]))
    time.sleep(0.05)
    between = datetime.now(UTC)
    time.sleep(0.05)
    send.send(broker.connection, one, send.rows([{"n": n} for n in range(5, 8)]))

    def numbers(start: peek.Start, limit: int | None = None) -> list[int]:
        return [json.loads(r.value or b"")["n"] for r in peek.read(broker.connection, one, start=start, limit=limit)]

    assert numbers("start") == list(range(8))
    assert numbers("start", limit=2) == [0, 1]
    assert numbers(6) == [6, 7]
    assert numbers(99) == []
    assert numbers("end") == []
    assert numbers(between) == [5, 6, 7]
    assert numbers(datetime.now(UTC)) == []
    assert [json.loads(r.value or b"")["n"] for r in peek.last(broker.connection, one, 3)] == [5, 6, 7]


def test_following_sees_what_comes_later(broker, one: str) -> None:
    seen: list[bytes | None] = []
    reader = threading.Thread(
        target=lambda: seen.extend(r.value for r in peek.read(broker.connection, one, follow=True, limit=3))
    )
    reader.start()
    for value in (b"1", b"2", b"3"):
        send.send(broker.connection, one, [Record(value)])
    reader.join(10)
    assert seen == [b"1", b"2", b"3"]


def test_an_aborted_transaction_is_not_seen_and_the_end_is_reached(broker, one: str) -> None:
    producer = broker.connection.producer(transactional_id=one)
    producer.init_transactions(10)
    for value, commit in ((b"kept", True), (b"aborted", False), (b"kept too", True)):
        producer.begin_transaction()
        producer.produce(one, value)
        producer.flush(10)
        producer.commit_transaction(10) if commit else producer.abort_transaction(10)
    assert [r.value for r in peek.read(broker.connection, one)] == [b"kept", b"kept too"]


def test_a_table_is_the_last_value_of_each_key_without_the_deleted(broker, one: str) -> None:
    changes = [(b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"b", None), (b"c", b"4"), (None, b"5")]
    send.send(broker.connection, one, [Record(value, key) for key, value in changes])
    table = peek.table(peek.read(broker.connection, one))
    assert {key: row.value for key, row in table.items()} == {b"a": b"3", b"c": b"4"}


def test_a_table_without_keys_is_one_row_the_newest_of_all_partitions() -> None:
    def stored(value: bytes | None, partition: int, second: int) -> Stored:
        return Stored(value, None, (), partition, second, NOW + timedelta(seconds=second))

    updates = [stored(b"1", 0, 1), stored(b"3", 0, 3), stored(b"2", 1, 2)]
    assert {key: row.value for key, row in peek.table(updates).items()} == {None: b"3"}
    assert peek.table([*updates, stored(None, 1, 4)]) == {}
    assert peek.table([]) == {}


def test_a_table_of_one_row_without_a_key_is_shown(broker, one: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["peek", one, "--table", "--broker", broker.connection.address]
    assert main(flags) == 0
    assert capsys.readouterr().out.strip() == "no rows"
    send.send(broker.connection, one, [Record(b'{"count":1}'), Record(b'{"count":2}')])
    assert main(flags) == 0
    shown = capsys.readouterr().out
    assert '{"count":2}' in shown
    assert '{"count":1}' not in shown


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("start", "start"),
        ("end", "end"),
        ("17", 17),
        ("5 minutes ago", NOW - timedelta(minutes=5)),
        ("1.5h ago", NOW - timedelta(hours=1.5)),
        ("2d", NOW - timedelta(days=2)),
        ("2026-01-02T03:04:05Z", NOW),
        ("2026-01-02 05:04:05+02:00", NOW),
        ("250 ms ago", NOW - timedelta(milliseconds=250)),
        ("1 hour 30 mins ago", NOW - timedelta(minutes=90)),
    ],
)
def test_a_place_to_start_from_is_understood(text: str, start: peek.Start) -> None:
    assert peek.start_from(text, NOW) == start


@pytest.mark.parametrize("text", ["yesterday", "1 month ago", "5 moons ago", "ago"])
def test_a_place_that_is_not_understood_lists_what_is(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        peek.start_from(text)
    assert caught.value.message == f"can't read from {text!r}"
    assert caught.value.fix == 'start, end, an offset, a time such as 2026-01-31T09:30, or "5 minutes ago"'


def test_a_partition_that_does_not_exist_is_named(broker, one: str) -> None:
    with pytest.raises(BrokerError, match=f"topic {one} has no partition 3"):
        list(peek.read(broker.connection, one, partition=3))
