"""Topics of a real broker as sources: several, by a pattern, from a place on, with headers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.broker import peek, topics
from headrace.errors import RunError, TopicError
from headrace.runtime import dead
from headrace.runtime.checkpoints.state import StateError
from tests.runtime.test_handle import Batches
from tests.runtime.test_run import put, rows_of, run


@pytest.fixture
def project(spark: Any, broker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    return broker


def rows(*values: int) -> list[dict[str, Any]]:
    return [{"v": value} for value in values]


def copying(source: Any, out: str, *columns: str) -> hr.App:
    app = hr.App(f"copy-{out}")
    app.stream(source, schema="v int").select("v", *columns).to(out)
    return app


def read(broker: Any, out: str) -> list[int]:
    return sorted(row["v"] for row in rows_of(broker, out))


def test_several_topics_are_one_stream_whose_events_know_their_topic(project: Any, topic: str) -> None:
    put(project, f"{topic}-a", rows(1, 2))
    put(project, f"{topic}-b", rows(3))
    run(copying(hr.sources.kafka([f"{topic}-a", f"{topic}-b"]), f"{topic}-out", "_topic as topic"), project)
    found = {row["v"]: row["topic"] for row in rows_of(project, f"{topic}-out")}
    assert found == {1: f"{topic}-a", 2: f"{topic}-a", 3: f"{topic}-b"}


def test_a_topic_that_begins_to_match_a_pattern_joins_in(project: Any, topic: str) -> None:
    def app() -> hr.App:
        return copying(hr.sources.kafka(pattern=f"{topic}-[ab]"), f"{topic}-out")

    put(project, f"{topic}-a", rows(1))
    put(project, f"{topic}-c", rows(100))
    run(app(), project)
    put(project, f"{topic}-b", rows(2))
    put(project, f"{topic}-a", rows(3))
    run(app(), project)
    assert read(project, f"{topic}-out") == [1, 2, 3]


def test_a_pattern_that_matches_nothing_is_refused_with_the_topics_there_are(project: Any, topic: str) -> None:
    put(project, f"{topic}-there", rows(1))
    with pytest.raises(TopicError, match=r"no topic at .* matches") as refused:
        run(copying(hr.sources.kafka(pattern=f"{topic}-no.*"), f"{topic}-out"), project)
    assert "there are: " in (refused.value.fix or "")
    assert refused.value.where is not None


def test_a_first_run_starts_at_a_time_and_later_ones_go_on(project: Any, topic: str) -> None:
    put(project, topic, rows(1, 2))
    between = datetime.now(UTC)
    put(project, topic, rows(3))
    run(copying(hr.sources.kafka(topic, start=between), f"{topic}-out"), project)
    put(project, topic, rows(4))
    run(copying(hr.sources.kafka(topic, start=between), f"{topic}-out"), project)
    assert read(project, f"{topic}-out") == [3, 4]


def test_a_start_before_1970_is_the_beginning(project: Any, topic: str) -> None:
    put(project, topic, rows(1, 2))
    run(copying(hr.sources.kafka(topic, start="1800-01-01"), f"{topic}-out"), project)
    assert read(project, f"{topic}-out") == [1, 2]


def test_a_first_run_starts_at_offsets_and_reads_other_partitions_whole(project: Any, topic: str) -> None:
    topics.create(project.connection, topic, partitions=2)
    producer = project.connection.producer()
    for value in range(10):
        producer.produce(topic, value=f'{{"v": {value}}}'.encode(), partition=value % 2)
    producer.flush()
    run(copying(hr.sources.kafka(topic, start={0: 3}), f"{topic}-out"), project)
    assert read(project, f"{topic}-out") == [1, 3, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("start", "message"),
    [({7: 0}, "start= names partition 7 of .*, which has 1"), ({0: 3}, "start= names offset 3 of .*, which ends at 2")],
)
def test_a_start_that_is_not_there_is_refused_at_the_users_line(
    project: Any, topic: str, start: dict[int, int], message: str
) -> None:
    topics.create(project.connection, topic, partitions=1)
    put(project, topic, rows(1, 2))
    with pytest.raises(TopicError, match=message) as refused:
        run(copying(hr.sources.kafka(topic, start=start), f"{topic}-out"), project)
    assert refused.value.where is not None


def test_headers_are_a_column(project: Any, topic: str) -> None:
    producer = project.connection.producer()
    topics.create(project.connection, topic)
    producer.produce(topic, value=b'{"v": 1}', headers=[("trace", b"abc"), ("trace", b"def"), ("none", None)])
    producer.produce(topic, value=b'{"v": 2}')
    producer.flush()
    trace = ["cast(_headers[0].value as string) as trace", "size(_headers) as many"]
    run(copying(hr.sources.kafka(topic, headers=True), f"{topic}-out", *trace), project)
    assert sorted((row["v"], row["trace"], row["many"]) for row in rows_of(project, f"{topic}-out")) == [
        (1, "abc", 3),
        (2, None, None),
    ]


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_headers_are_written_and_another_client_reads_them(project: Any, topic: str, delivery: Any) -> None:
    put(project, topic, [{"v": 1, "name": "Zoë"}, {"v": 2}, {"v": 3, "name": "no number"}])
    app = hr.App(f"copy-{topic}")
    headers = {"name": "name", "raw": "cast(name as binary)", "n": "v * 2", "checked": "if(v = 3, cast(name as int), 1)"}
    app.stream(topic, schema="v long, name string").to(f"{topic}-out", headers=headers, delivery=delivery)
    run(app, project)
    written = {
        json.loads(record.value or b"")["v"]: list(record.headers) for record in peek.read(project.connection, f"{topic}-out")
    }
    assert written == {
        1: [("name", "Zoë".encode()), ("raw", "Zoë".encode()), ("n", b"2"), ("checked", b"1")],
        2: [("n", b"4"), ("checked", b"1")],
    }
    (dead_letter,) = dead.read(project.connection, app.name)
    assert (json.loads(dead_letter.record.value or b"")["v"], "no number" in dead_letter.cause) == (3, True)


def test_a_topic_of_a_pattern_that_was_created_again_is_noticed(project: Any, topic: str) -> None:
    def app() -> hr.App:
        return copying(hr.sources.kafka(pattern=f"{topic}-.*a"), f"{topic}-out")

    put(project, f"{topic}-a", rows(1))
    put(project, f"{topic}-aa", rows(2))
    run(app(), project)
    topics.delete(project.connection, f"{topic}-aa")
    put(project, f"{topic}-aa", rows(3))
    with pytest.raises(StateError, match="was deleted and created again"):
        run(app(), project)


class Numbers(hr.sources.Reader):
    """What a test puts into a list, for ever."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = list(numbers)

    def read(self, after: Any) -> Iterator[hr.sources.Record | None]:
        at = 0 if after is None else after + 1
        while True:
            if at < len(self.numbers):
                yield hr.sources.Record({"v": self.numbers[at]}, position=at)
                at += 1
            else:
                yield None


def test_a_bounded_run_takes_all_that_a_readers_source_has_and_the_next_goes_on_after_it(project: Any, topic: str) -> None:
    numbers = Numbers(1, 2, 3)

    def app() -> hr.App:
        made = hr.App(f"own-{topic}")
        made.stream(hr.sources.custom(numbers, topic=topic), schema="v int").to(f"{topic}-out")
        return made

    app().run(until="now", broker=project.address)
    numbers.numbers.append(4)
    app().run(until="now", broker=project.address)
    assert read(project, f"{topic}-out") == [1, 2, 3, 4]


def test_what_a_readers_source_yields_while_the_application_runs_is_processed(project: Any, topic: str) -> None:
    numbers, seen = Numbers(1), Batches()
    app = hr.App(f"live-{topic}")
    app.stream(hr.sources.custom(numbers, topic=topic), schema="v int").to(f"{topic}-out", name="copy")
    with app.start(broker=project.address, on_event=seen, quiet=True):
        seen.rows(1)
        numbers.numbers.extend([2, 3])
        seen.rows(3)
    assert read(project, f"{topic}-out") == [1, 2, 3]


def test_a_source_that_keeps_raising_ends_the_run_at_its_line(
    project: Any, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(hr.sources.Reader):
        def read(self, after: Any) -> Iterator[hr.sources.Record | None]:
            yield hr.sources.Record({"v": 1}, position=0)
            raise OSError("the wire is cut")

    app = hr.App(f"broken-{topic}")
    app.stream(hr.sources.custom(Broken(), topic=topic), schema="v int").to(f"{topic}-out")
    monkeypatch.setattr("headrace.gateways.service.BACKOFF", (0.01,))
    with pytest.raises(RunError, match="the wire is cut") as raised:
        app.run(broker=project.address)
    assert raised.value.where is not None
    assert raised.value.where.code == 'raise OSError("the wire is cut")'


def test_a_topic_that_matches_joins_while_it_runs(project: Any, topic: str) -> None:
    put(project, f"{topic}-a", rows(1))
    seen = Batches()
    app = hr.App(f"join-{topic}")
    app.stream(hr.sources.kafka(pattern=f"{topic}-[a-z]"), schema="v int").to(f"{topic}_out", name="copy")
    with app.start(broker=project.address, on_event=seen, quiet=True):
        seen.rows(1)
        put(project, f"{topic}-b", rows(2))
        put(project, f"{topic}-a", rows(3))
        seen.rows(3)
    assert read(project, f"{topic}_out") == [1, 2, 3]
