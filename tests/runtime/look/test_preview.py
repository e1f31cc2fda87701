"""stream.preview() and table.preview(): a look at part of a program, on a real broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import headrace as hr
from headrace.broker import send, topics
from headrace.errors import PlanError, TopicError
from headrace.runtime.events import BatchDone
from tests.runtime.test_handle import SECONDS, Batches


@pytest.fixture(autouse=True)
def project(spark: Any, broker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_BROKER", broker.address)


def put(broker: Any, topic: str, *rows: dict[str, Any]) -> None:
    if not topics.exists(broker.connection, topic):
        # Of one partition, so that the rows have an order.
        topics.create(broker.connection, topic, partitions=1)
    send.send(broker.connection, topic, send.rows(rows))


def trades(app: hr.App, topic: str) -> hr.Stream:
    return app.stream(topic, schema="symbol string, price int, at timestamp", time="at", lateness="1 second")


ROWS = [{"symbol": s, "price": p, "at": f"2024-01-01T10:00:{t:02}Z"} for s, p, t in (("A", 1, 0), ("B", 2, 1), ("A", 3, 30))]


def test_the_rows_of_each_step_are_there(broker: Any, topic: str) -> None:
    put(broker, topic, *ROWS)
    read = trades(hr.App("preview"), topic)
    frame = read.with_columns(double="price * 2").preview()
    assert frame["double"].tolist() == [2, 4, 6]
    assert str(frame["at"].dtype) == "datetime64[us, UTC]"
    assert read.where("price > 5").preview().empty
    assert list(read.where("price > 5").preview().columns) == ["symbol", "price", "at"]
    assert read.select(place="_offset").preview(records=1)["place"].tolist() == [2]


def test_windows_are_closed_as_if_nothing_else_came(broker: Any, topic: str) -> None:
    put(broker, topic, *ROWS)
    windows = trades(hr.App("preview"), topic).key_by("symbol").window(hr.tumbling("10 seconds"), emit="final").count()
    assert windows.preview()["window_start"].tolist() == [
        pd.Timestamp(f"2024-01-01 10:00:{second:02}", tz="UTC") for second in (0, 0, 30)
    ]


def test_of_a_table_the_newest_rows_are_there(broker: Any, topic: str) -> None:
    put(broker, topic, *ROWS)
    app = hr.App("preview")
    sums = trades(app, topic).key_by("symbol").agg(total="sum(price)")
    assert dict(sums.preview().itertuples(index=False)) == {"A": 4, "B": 2}
    # Where the program is cut into several queries.
    assert sums.key_by(most="total > 3").count().preview().set_index("most")["count"].to_dict() == {True: 1, False: 1}
    assert sums.where("total > 3").preview()["symbol"].tolist() == ["A"]


def test_nothing_is_left_behind_and_the_application_may_run_meanwhile(broker: Any, topic: str, tmp_path: Path) -> None:
    put(broker, topic, *ROWS)
    app = hr.App(f"preview-{topic}")
    counts = trades(app, topic).key_by("symbol").count()
    counts.to(f"{topic}-counts")
    there = set(topics.names(broker.connection, internal=True))
    assert len(counts.preview()) == 2
    assert set(topics.names(broker.connection, internal=True)) == there
    assert not (tmp_path / ".headrace" / "state").exists()
    heard = Batches()
    with app.start(on_event=heard, quiet=True) as run:
        heard.rows(2)
        assert len(counts.preview()) == 2
        assert run.running
        put(broker, topic, {"symbol": "C", "price": 1, "at": "2024-01-01T10:01:00Z"})
        heard.rows(3)
    assert sum(isinstance(event, BatchDone) for event in heard.heard) >= 2
    assert run.wait(SECONDS).totals[0].rows_in == 4


def test_records_that_cannot_be_used_are_counted(broker: Any, topic: str) -> None:
    put(broker, topic, *ROWS, {"symbol": "A", "price": "x", "at": "2024-01-01"})
    with pytest.warns(UserWarning, match=f"1 records can't be used .* {topic}/0/3: field price: expected int"):
        assert len(trades(hr.App("preview"), topic).preview()) == 3


def test_a_mistake_is_an_error_at_its_line(topic: str) -> None:
    stream = hr.App("preview").stream(topic, schema="v int")
    matching = hr.App("preview").stream(hr.sources.kafka(pattern=f"{topic}-.*"), schema="v int")
    for make, kind, message in (
        (lambda: stream.preview(records=0), PlanError, "records=0 must be a whole number"),
        (lambda: stream.preview(), TopicError, f"there is no topic {topic}"),
        (lambda: matching.preview(), TopicError, f"no topic at .* matches '{topic}-.*'"),
        (lambda: stream.select(d="no_such(v)").preview(), PlanError, "no_such"),
    ):
        with pytest.raises(kind, match=message) as caught:
            make()
        assert caught.value.where is not None
        assert caught.value.where.file == __file__
