"""Topics exactly once, on a real broker: crashes, checkpoints that are not what they were, dead letters."""

from __future__ import annotations

import json
import random
import shutil
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import OffsetSpec

import headrace as hr
from faults.rig import wait_for
from headrace import cli
from headrace.broker import peek, send, topics
from headrace.broker.client import Connection
from headrace.broker.records import Record
from headrace.errors import RunError, StateError
from headrace.runtime import dead
from headrace.runtime import run as runtime
from headrace.runtime.checkpoints import repair
from headrace.runtime.display import Silent
from headrace.runtime.run import Summary


@pytest.fixture
def project(spark: Any, broker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    return broker


class Copies:
    """An application that copies a topic, and what a test does to it."""

    def __init__(self, broker: Any, topic: str, folder: Path, **options: Any) -> None:
        self.broker, self.topic, self.out = broker, topic, f"{topic}-out"
        self.options = options
        self.place = folder / ".headrace" / "state" / f"copy-{topic}" / self.out
        topics.create(broker.connection, topic, partitions=2)

    @property
    def app(self) -> hr.App:
        app = hr.App(f"copy-{self.topic}")
        app.stream(self.topic, schema="id int", **self.options).to(self.out)
        return app

    def put(self, *ids: int) -> None:
        records = (Record(json.dumps({"id": id}).encode(), str(id).encode()) for id in ids)
        send.send(self.broker.connection, self.topic, records)

    def run(self) -> Summary:
        return runtime.run(self.app, until="now", flags={"broker": self.broker.address}, display=Silent())

    def written(self) -> Counter[int]:
        return Counter(json.loads(record.value or b"null")["id"] for record in peek.read(self.broker.connection, self.out))

    def batches(self) -> list[int]:
        return sorted(int(file.name) for file in (self.place / "commits").glob("[0-9]*"))

    def forget(self, log: str, batch: int) -> None:
        (self.place / log / str(batch)).unlink()
        (self.place / log / f".{batch}.crc").unlink(missing_ok=True)


def test_a_batch_that_was_written_and_not_noted_is_not_written_again(project: Any, topic: str, tmp_path: Path) -> None:
    copies = Copies(project, topic, tmp_path)
    chance = random.Random(topic)
    for number in range(6):
        copies.put(*range(number * 10, number * 10 + 10))
        copies.run()
        if chance.random() < 0.7:
            # Died after the sink, before the commit.
            copies.forget("commits", copies.batches()[-1])
    copies.run()
    assert copies.written() == Counter(range(60))


def test_a_mark_says_where_its_batch_ends_in_the_topic(project: Any, topic: str, tmp_path: Path) -> None:
    """Readers can't see where a transaction ends: views become visible batch by batch by these marks."""
    copies = Copies(project, topic, tmp_path)
    for number in range(4):
        copies.put(*range(number * 10, number * 10 + 10))
        copies.run()
    records = list(peek.read(project.connection, copies.out))
    ends: list[dict[str, int]] = []
    for mark in peek.read(project.connection, f"headrace.copy-{topic}.marks"):
        (text,) = (value for name, value in mark.headers if name == "headrace.ends")
        ends.append(json.loads(text or b""))
    assert len(ends) == 4
    for number, places in enumerate(ends, 1):
        inside = [record for record in records if record.offset < places.get(f"{copies.out}/{record.partition}", 0)]
        assert {json.loads(record.value or b"")["id"] for record in inside} == set(range(number * 10))


def test_a_checkpoint_that_was_deleted_is_noticed_and_can_be_repaired(project: Any, topic: str, tmp_path: Path) -> None:
    copies = Copies(project, topic, tmp_path)
    copies.put(1, 2, 3)
    copies.run()
    shutil.rmtree(copies.place)
    with pytest.raises(StateError) as caught:
        copies.run()
    text = str(caught.value)
    assert "holds results up to batch 0 of another checkpoint of this query" in text
    assert "test_exactly_once.py" in text
    assert f"headrace repair tests/runtime/test_exactly_once.py {copies.out}" in text or "headrace repair" in text
    assert copies.written() == Counter([1, 2, 3])
    repair.repair(copies.app, copies.out, flags={"broker": project.address}, display=Silent())
    copies.put(4)
    copies.run()
    assert copies.written() == Counter({1: 2, 2: 2, 3: 2, 4: 1})


def test_an_older_copy_of_a_checkpoint_is_noticed(project: Any, topic: str, tmp_path: Path) -> None:
    copies = Copies(project, topic, tmp_path)
    copies.put(1)
    copies.run()
    shutil.copytree(copies.place, tmp_path / "copy")
    for id in (2, 3):
        copies.put(id)
        copies.run()
    shutil.rmtree(copies.place)
    shutil.copytree(tmp_path / "copy", copies.place)
    copies.put(4)
    with pytest.raises(StateError, match="an older copy of the checkpoint was put in its place"):
        copies.run()
    assert copies.written() == Counter([1, 2, 3])


def test_a_batch_that_is_planned_anew_with_other_records_is_noticed(project: Any, topic: str, tmp_path: Path) -> None:
    copies = Copies(project, topic, tmp_path)
    for id in (1, 2):
        copies.put(id)
        copies.run()
    for log in ("commits", "offsets"):
        copies.forget(log, 1)
    copies.put(3)
    with pytest.raises(StateError, match="holds a batch 1 of other records"):
        copies.run()
    assert copies.written() == Counter([1, 2])


def test_a_topic_of_marks_that_was_deleted_is_noticed(project: Any, topic: str, tmp_path: Path) -> None:
    copies = Copies(project, topic, tmp_path)
    copies.put(1)
    copies.run()
    topics.delete(project.connection, f"headrace.copy-{topic}.marks")
    with pytest.raises(StateError, match=r"where query .* notes what it has written, is gone or is another one"):
        copies.run()
    repair.repair(copies.app, copies.out, flags={"broker": project.address}, display=Silent())
    copies.put(2)
    copies.run()
    assert copies.written() == Counter([1, 2])


def test_a_topic_that_ends_before_what_it_has_confirmed_is_noticed(project: Any, topic: str, tmp_path: Path) -> None:
    copies = Copies(project, topic, tmp_path)
    copies.put(1, 2)
    copies.run()
    topics.delete(project.connection, copies.out)
    topics.create(project.connection, copies.out, partitions=2)
    # Nothing to do, and noticed all the same.
    with pytest.raises(StateError) as caught:
        copies.run()
    assert f"of the topic {copies.out} ends at offset 0 instead of" in caught.value.message
    assert "although batch 0 was confirmed there: it was deleted, restored from an older copy" in caught.value.message
    assert repair.repair(copies.app, copies.out, flags={"broker": project.address}, display=Silent()) != []
    copies.put(3)
    copies.run()
    assert copies.written() == Counter([3])


def test_what_the_broker_forgot_of_its_marks_is_noticed(project: Any, topic: str, tmp_path: Path) -> None:
    copies = Copies(project, topic, tmp_path)
    copies.put(1)
    copies.run()
    marks = f"headrace.{copies.app.name}.marks"
    (first,) = peek.read(project.connection, marks)
    copies.put(2)
    copies.run()
    # As a log that lost its tail: the newest mark is again the first one.
    send.send(project.connection, marks, [Record(first.value, first.key)])
    copies.put(3)
    with pytest.raises(StateError) as caught:
        copies.run()
    assert f"the broker {project.address} holds results up to batch 0" in caught.value.message
    assert "but the checkpoint says batch 1 was confirmed there" in caught.value.message
    assert copies.written() == Counter([1, 2])


def test_what_can_not_be_decoded_is_kept_once_with_its_bytes_and_cause(project: Any, topic: str, tmp_path: Path) -> None:
    copies = Copies(project, topic, tmp_path)
    copies.put(*range(50_000))
    poison = Record(b'{"id": "many"}', b"k", (("trace", b"abc"),))
    send.send(project.connection, topic, [poison])
    copies.put(*range(50_000, 100_000))
    total = copies.run().totals[0]
    assert (total.rows_in, total.rows_out, total.bad) == (100_001, 100_000, 1)
    copies.forget("commits", copies.batches()[-1])
    copies.run()
    assert copies.written() == Counter(range(100_000))
    (dead_letter,) = dead.read(project.connection, copies.app.name)
    assert dead_letter.record == poison
    assert (dead_letter.query, dead_letter.topic, dead_letter.operator) == (copies.out, topic, f"decode {topic}")
    assert dead_letter.cause == 'field id: expected int, found string "many"'
    (stored,) = [record for record in peek.read(project.connection, topic) if record.key == b"k"]
    assert (dead_letter.partition, dead_letter.offset) == (stored.partition, stored.offset)


def test_a_dead_letter_can_be_replayed_after_a_fix_or_dropped(project: Any, topic: str, tmp_path: Path) -> None:
    copies = Copies(project, topic, tmp_path)
    send.send(project.connection, topic, [Record(b'{"id": "7"}', b"a"), Record(b"nonsense", b"b"), Record(None, b"c")])
    copies.run()
    name, connection = copies.app.name, project.connection
    found = {dead_letter.record.key: dead_letter for dead_letter in dead.read(connection, name)}
    assert set(found) == {b"a", b"b", b"c"}
    assert found[b"c"].record.value is None
    assert dead.drop(connection, name, dead.find(connection, name, [found[b"b"].id, found[b"c"].id])) == 2
    app = hr.App(name)
    app.stream(topic, schema="id string").to(copies.out)
    runtime.run(app, until="now", flags={"broker": project.address}, display=Silent())
    assert dead.replay(connection, name, dead.find(connection, name, [])) == 1
    assert dead.read(connection, name) == []
    runtime.run(app, until="now", flags={"broker": project.address}, display=Silent())
    assert copies.written() == Counter(["7"])


def test_a_row_that_is_too_large_for_its_topic_is_a_dead_letter(project: Any, topic: str, tmp_path: Path) -> None:
    copies = Copies(project, topic, tmp_path)
    topics.create(project.connection, copies.out, config={"max.message.bytes": "2000"})
    app = hr.App(copies.app.name)
    app.stream(topic, schema="id int").select("id", "repeat('x', id) as pad").to(copies.out)
    copies.put(10, 5000, 20, 5000)
    total = runtime.run(app, until="now", flags={"broker": project.address}, display=Silent()).totals[0]
    assert (total.rows_in, total.taken, total.rows_out, total.dead_rows, total.bad) == (4, 4, 4, 2, 0)
    assert copies.written() == Counter([10, 20])
    dead_letter, other = dead.read(project.connection, app.name)
    assert other.record == dead_letter.record
    assert dead_letter.topic == copies.out
    assert dead_letter.partition is None
    assert "too large for the topic" in dead_letter.cause
    assert json.loads(dead_letter.record.value or b"")["id"] == 5000


def test_without_dead_letters_a_row_that_is_too_large_ends_the_run_at_once(project: Any, topic: str, tmp_path: Path) -> None:
    copies = Copies(project, topic, tmp_path)
    topics.create(project.connection, copies.out, config={"max.message.bytes": "2000"})
    app = hr.App(copies.app.name)
    app.stream(topic, schema="id int", bad="skip").select("id", "repeat('x', id) as pad").to(copies.out)
    copies.put(10, 5000)
    with pytest.raises(RunError) as refused:
        runtime.run(app, until="now", flags={"broker": project.address}, display=Silent())
    assert f"bytes is too large for the topic {copies.out}, which takes 2000" in refused.value.message
    assert "make rows smaller, or raise its max.message.bytes" in refused.value.message
    assert copies.written() == Counter()


@hr.udf("int")
def picky(n: int) -> int:
    if n % 10 == 7:
        raise ValueError("seven")
    return n


def test_what_comes_in_goes_out_or_is_filtered_or_dead(project: Any, topic: str, tmp_path: Path) -> None:
    copies = Copies(project, topic, tmp_path)
    copies.put(*range(1000))
    send.send(project.connection, topic, [Record(b"nonsense", b"a"), Record(b'{"id": 1.5}', b"b")])
    app = hr.App(copies.app.name)
    stream = app.stream(topic, schema="id int").where("id >= 100").select("picky(id) as id")
    stream.where("id % 2 = 0 or id % 5 = 0").to(copies.out)
    total = runtime.run(app, until="now", flags={"broker": project.address}, display=Silent()).totals[0]
    kept = [id for id in range(100, 1000) if id % 10 != 7 and (id % 2 == 0 or id % 5 == 0)]
    assert (total.rows_in, total.taken, total.bad, total.late) == (1002, len(kept), 2 + 90, 0)
    assert total.rows_out == total.taken
    assert total.filtered == 1002 - len(kept) - 92
    assert copies.written() == Counter(kept)
    assert len(dead.read(project.connection, app.name)) == 92


def test_a_damaged_file_of_a_checkpoint_is_reported_at_once(project: Any, topic: str, tmp_path: Path) -> None:
    copies = Copies(project, topic, tmp_path)
    copies.put(1)
    copies.run()
    file = copies.place / "offsets" / str(copies.batches()[-1])
    good = file.read_bytes()
    file.write_bytes(bytes(len(good)))
    copies.put(2)
    with pytest.raises(StateError, match="is damaged: Checksum error") as refused:
        copies.run()
    assert "bring it back from a copy" in (refused.value.fix or "")
    file.write_bytes(good)
    copies.run()
    assert copies.written() == Counter([1, 2])


def test_a_setting_that_a_checkpoint_depends_on_can_not_change(project: Any, topic: str, tmp_path: Path) -> None:
    copies = Copies(project, topic, tmp_path)
    copies.put(1)
    copies.run()
    manifest = copies.place / "headrace.json"
    manifest.write_text(manifest.read_text().replace('timeZone": "UTC"', 'timeZone": "Europe/Berlin"'))
    manifest.with_name(".headrace.json.crc").unlink(missing_ok=True)
    with pytest.raises(StateError, match=r"written with spark\.sql\.session\.timeZone=Europe/Berlin, and now it is UTC"):
        copies.run()


def test_a_query_that_is_stopped_leaves_no_transaction_open(project: Any, spark: Any, topic: str, tmp_path: Path) -> None:
    copies = Copies(project, topic, tmp_path)
    topics.create(project.connection, copies.out, partitions=1)
    copies.put(1, 2)
    app = hr.App(copies.app.name)
    # The first row is sent; the second one takes its time.
    slow = "reflect('java.lang.Thread', 'sleep', if(id = 2, 120000L, 0L))"
    app.stream(topic, schema="id int").select("id", f"{slow} as slept").to(copies.out)
    flags = {"broker": project.address, "transaction_timeout": "10 minutes"}
    running = threading.Thread(target=lambda: runtime.run(app, flags=flags, display=Silent()))
    running.start()
    wait_for(lambda: unsettled(project.connection, copies.out), "a transaction")
    (query,) = spark.streams.active
    query.stop()
    running.join()
    assert not unsettled(project.connection, copies.out)


def unsettled(connection: Connection, topic: str) -> bool:
    """Whether readers of committed records wait for a transaction in it."""
    place = TopicPartition(topic, 0)
    ends = [
        connection.admin.list_offsets({place: OffsetSpec.latest()}, isolation_level=level)[place].result().offset
        for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
    ]
    return ends[0] != ends[1]


def test_the_commands_for_dead_letters(project: Any, topic: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copies = Copies(project, topic, tmp_path)
    send.send(project.connection, topic, [Record(b'{"id": "x"}', b"a", (("trace", b"t"),)), Record(b"{", b"b")])
    copies.run()

    def headrace(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = cli.main(["dead", words[0], copies.app.name, *words[1:], "--broker", project.address])
        found = capsys.readouterr()
        return code, found.out + found.err

    listed = [json.loads(line) for line in headrace("list", "--json")[1].splitlines()]
    assert {row["operator"] for row in listed} == {f"decode {topic}"}
    first, second = (row["id"] for row in listed)
    code, shown = headrace("show", first, second)
    assert code == 0
    assert 'field id: expected int, found string "x"' in shown
    assert "trace" in shown
    code, said = headrace("replay")
    assert code == 1
    assert "name their ids, or --all" in said
    code, said = headrace("drop", f"{topic}/9/9")
    assert code == 1
    assert "headrace dead list" in said
    assert headrace("replay", first)[1].startswith("replayed 1")
    assert headrace("drop", "--all")[1] == "dropped 1\n"
    assert headrace("list")[1] == "no dead letters\n"
    assert len(list(peek.read(project.connection, topic))) == 3


def test_dead_letters_of_a_topic_that_is_written_at_least_once_are_there_when_the_batch_is(
    project: Any, topic: str, tmp_path: Path
) -> None:
    copies = Copies(project, topic, tmp_path)
    copies.put(1)
    send.send(project.connection, topic, [Record(b"nonsense", b"a")])
    app = hr.App(copies.app.name)
    app.stream(topic, schema="id int").to(copies.out, delivery="at_least_once")
    total = runtime.run(app, until="now", flags={"broker": project.address}, display=Silent()).totals[0]
    assert (total.rows_out, total.bad) == (1, 1)
    assert [dead_letter.record.key for dead_letter in dead.read(project.connection, app.name)] == [b"a"]
