"""Records that are deleted before a query reads them, on a real broker: it stops, and goes on once someone accepts that."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition

import headrace as hr
from headrace.broker import peek, send, topics
from headrace.broker.records import Record
from headrace.errors import ConfigError, RunError
from headrace.runtime import run as runtime
from headrace.runtime.checkpoints import skip
from headrace.runtime.checkpoints.gaps import Gap
from headrace.runtime.display import Silent
from headrace.runtime.progress import Total


class Heard(Silent):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


def test_a_query_goes_on_after_deleted_records_with_its_state_and_a_note_of_the_gap(
    spark: Any, broker: Any, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    connection, out, flags = broker.connection, f"{topic}-out", {"broker": broker.address}
    topics.create(connection, topic, partitions=2)
    truth: Counter[str] = Counter()

    def app() -> hr.App:
        made = hr.App(f"gap-{topic}")
        made.stream(topic, schema="k string").key_by("k").count().to(out)
        return made

    def put(many: int) -> None:
        records = (Record(json.dumps({"k": str(n % 7)}).encode(), str(n).encode()) for n in range(many))
        send.send(connection, topic, records)

    def run() -> tuple[Total, list[str]]:
        heard = Heard()
        return runtime.run(app(), until="now", flags=flags, display=heard).totals[0], heard.said

    def delete(partition: int, before: int) -> None:
        for done in connection.admin.delete_records([TopicPartition(topic, partition, before)]).values():
            done.result()

    def counts() -> Counter[str]:
        rows = [json.loads(stored.value or b"") for stored in peek.table(peek.read(connection, out)).values()]
        return Counter({row["k"]: row["count"] for row in rows})

    def left() -> Counter[str]:
        return Counter(json.loads(stored.value or b"")["k"] for stored in peek.read(connection, topic))

    put(100)
    run()
    truth = left()
    assert counts() == truth
    assert skip.skip(app(), out, flags=flags, display=Silent()) == []
    read = topics.offsets(connection, [(topic, 0), (topic, 1)])
    (first, second) = (read[topic, number][1] for number in (0, 1))
    put(100)
    delete(0, first + 10)
    with pytest.raises(RunError, match="are gone from the log") as e:
        run()
    assert (e.value.fix or "").startswith(f"headrace skip {__file__} {out}: it goes on with what is left, keeps its state")
    # What was planned before is deleted in part, and so is what comes after it.
    put(100)
    delete(0, first + 20)
    delete(1, second + 5)
    expected = [Gap(topic, 0, first, first + 20), Gap(topic, 1, second, second + 5)]
    assert skip.skip(app(), out, flags=flags, display=Silent()) == expected
    total, said = run()
    truth += left()
    assert counts() == truth
    assert total.rows_in == 175
    assert [line for line in said if "has a gap" in line] == [
        f"query {out!r} has a gap: {gap} were deleted before they were read" for gap in expected
    ]
    # The gap is passed over once; another one is another decision.
    put(50)
    before = left()
    delete(1, topics.offsets(connection, [(topic, 1)])[topic, 1][1])
    with pytest.raises(RunError, match="are gone from the log"):
        run()
    (third,) = skip.skip(app(), out, flags=flags, display=Silent())
    truth += before - Counter()
    assert third.partition == 1
    assert skip.skip(app(), out, flags=flags, display=Silent()) == []
    total, said = run()
    assert total.rows_in == 50 - (third.end - third.begin)
    assert sum("has a gap" in line for line in said) == 3
    assert sum(counts().values()) == 100 + 175 + total.rows_in
    with pytest.raises(ConfigError, match="has no query 'other'"):
        skip.skip(app(), "other", flags=flags, display=Silent())
