"""app.start(): a run beside the program, on a real broker and a real Spark."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.broker import peek, send, topics
from headrace.errors import BadRecord, ConfigError, PlanError, RunError, StateError, TopicError
from headrace.runtime import events, sharing
from headrace.runtime.events import BatchDone, Event, Failed, Note, Started, Stopped

SECONDS = 120.0


@pytest.fixture
def project(spark: Any, broker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    return broker


def put(broker: Any, topic: str, *rows: dict[str, Any]) -> None:
    send.send(broker.connection, topic, send.rows(rows), create=True)


def copying(name: str, topic: str, **options: Any) -> hr.App:
    app = hr.App(f"{name}-{topic}")
    app.stream(topic, schema="v int", **options).to(f"{topic}-{name}", name="copy")
    return app


class Batches:
    """A listener that lets a test wait until so many rows are written."""

    def __init__(self) -> None:
        self.heard: list[Event] = []
        self._rows, self._changed = 0, threading.Condition()

    def __call__(self, event: Event) -> None:
        with self._changed:
            self.heard.append(event)
            if isinstance(event, BatchDone):
                self._rows = event.total.rows_out
            self._changed.notify_all()

    def rows(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._rows >= count, SECONDS), self.heard

    def note(self, text: str) -> None:
        with self._changed:
            said = self._changed.wait_for(lambda: any(isinstance(e, Note) and text in e.text for e in self.heard), SECONDS)
            assert said, self.heard


def test_a_run_goes_on_until_it_is_stopped_and_says_what_it_did(project: Any, topic: str) -> None:
    put(project, topic, {"v": 1}, {"v": 2})
    heard = Batches()
    run = copying("out", topic).start(broker=project.address, on_event=heard, quiet=True)
    heard.rows(2)
    assert run.running
    put(project, topic, {"v": 3})
    heard.rows(3)
    assert run.progress["copy"].total.rows_in == 3
    assert run.progress["copy"].batch.query == "copy"
    with pytest.raises(TimeoutError, match=r"is still running after 0\.1 seconds"):
        run.wait(0.1)
    run.stop()
    run.stop()
    summary = run.wait(SECONDS)
    run.stop()
    assert (summary.totals[0].rows_out, summary.complete) == (3, False)
    assert run.wait() is summary
    assert not run.running
    assert run.failure is None
    assert isinstance(heard.heard[-1], Stopped)
    assert heard.heard[-1].asked
    (started,) = [event for event in heard.heard if isinstance(event, Started)]
    assert started == Started(f"out-{topic}", ("copy",), project.address)


def test_leaving_the_block_stops_it_and_the_next_start_goes_on(project: Any, topic: str) -> None:
    put(project, topic, {"v": 1})
    app = copying("out", topic)
    for rows in (1, 1):
        heard = Batches()
        with app.start(broker=project.address, on_event=heard, quiet=True) as run:
            heard.rows(rows)
        assert not run.running
        put(project, topic, {"v": 2})
    assert len(list(peek.read(project.connection, f"{topic}-out"))) == 2


def test_a_bounded_run_ends_by_itself(project: Any, topic: str) -> None:
    put(project, topic, {"v": 1})
    summary = copying("out", topic).start(until="now", broker=project.address, quiet=True).wait(SECONDS)
    assert (summary.complete, summary.totals[0].rows_out) == (True, 1)


def test_a_second_start_of_the_same_application_is_refused_and_leaves_the_first_alone(project: Any, topic: str) -> None:
    put(project, topic, {"v": 1})
    heard = Batches()
    with copying("out", topic).start(broker=project.address, on_event=heard, quiet=True) as run:
        with pytest.raises(StateError, match="is running already, in this process") as caught:
            copying("out", topic).start(broker=project.address, quiet=True)
        assert "stop()" in (caught.value.fix or "")
        heard.rows(1)
        assert run.running


def test_two_applications_share_spark_and_stopping_one_leaves_the_other(project: Any, topic: str) -> None:
    put(project, topic, {"v": 1})
    first, second = Batches(), Batches()
    with copying("a", topic).start(broker=project.address, on_event=first, quiet=True) as a:
        with copying("b", topic).start(broker=project.address, on_event=second, quiet=True):
            first.rows(1)
            second.rows(1)
        assert a.running
        put(project, topic, {"v": 2})
        first.rows(2)
    assert len(list(peek.read(project.connection, f"{topic}-a"))) == 2
    assert len(list(peek.read(project.connection, f"{topic}-b"))) == 1


def test_settings_that_one_spark_cannot_have_both_are_refused(project: Any, topic: str) -> None:
    put(project, topic, {"v": 1})
    heard = Batches()
    with copying("a", topic).start(broker=project.address, on_event=heard, quiet=True) as a:
        heard.rows(1)
        with pytest.raises(ConfigError, match=f"which runs 'a-{topic}', has batches") as caught:
            copying("b", topic).start(mode="realtime", broker=project.address, quiet=True).wait(SECONDS)
        assert "another process" in (caught.value.fix or "")
        with pytest.raises(ConfigError, match=r"master = local\[1\]"):
            copying("b", topic).start(master="local[1]", broker=project.address, quiet=True).wait(SECONDS)
        assert a.running


def test_a_listener_may_stop_the_run_but_not_wait_for_it(project: Any, topic: str) -> None:
    put(project, topic, {"v": 1})
    runs: list[hr.Run] = []
    known, caught = threading.Event(), list[Exception]()

    def on_event(event: Event) -> None:
        if isinstance(event, BatchDone):
            known.wait(SECONDS)
            try:
                runs[0].wait()
            except RunError as e:
                caught.append(e)
            with runs[0]:
                pass

    runs.append(copying("out", topic).start(broker=project.address, on_event=on_event, quiet=True))
    known.set()
    runs[0].wait(SECONDS)
    assert "call stop() in a listener" in str(caught[0])


def test_a_listener_may_not_run_an_application_and_wait_for_it(project: Any, topic: str) -> None:
    put(project, topic, {"v": 1})
    caught = list[Exception]()
    app, other = copying("a", topic), copying("b", topic)

    def on_event(event: Event) -> None:
        if isinstance(event, BatchDone) and not caught:
            for each in (app, other):
                try:
                    each.run(until="now", broker=project.address)
                except (StateError, RunError) as e:
                    caught.append(e)

    assert app.start(until="now", broker=project.address, on_event=on_event, quiet=True).wait(SECONDS).totals[0].rows_out == 1
    assert [type(e) for e in caught] == [RunError, RunError]
    assert f"'a-{topic}' is run by a listener" in str(caught[0])
    assert "call start() in a listener" in str(caught[1])


def test_a_listener_may_start_another_application(project: Any, topic: str) -> None:
    put(project, topic, {"v": 1})
    others = list[hr.Run]()
    started = threading.Event()

    def on_event(event: Event) -> None:
        if isinstance(event, BatchDone) and not others:
            others.append(copying("b", topic).start(until="now", broker=project.address, quiet=True))
            started.set()

    copying("a", topic).start(until="now", broker=project.address, on_event=on_event, quiet=True).wait(SECONDS)
    assert started.is_set()
    assert others[0].wait(SECONDS).totals[0].rows_out == 1


def test_a_function_that_handles_a_row_may_not_run_its_application(project: Any, topic: str) -> None:
    put(project, topic, {"v": 1})
    caught = list[Exception]()
    app = hr.App(f"handled-{topic}")

    def handle(row: dict[str, Any], id: str) -> None:
        try:
            app.run(broker=project.address)
        except StateError as e:
            caught.append(e)

    app.stream(topic, schema="v int").to(hr.sinks.call(handle))
    app.start(until="now", broker=project.address, quiet=True).wait(SECONDS)
    assert "is running already, in this process" in str(caught[0])


def test_two_handles_of_one_application_are_two_runs_one_after_the_other(project: Any, topic: str) -> None:
    put(project, topic, {"v": 1})
    app = copying("out", topic)
    first = app.start(until="now", broker=project.address, quiet=True)
    with pytest.raises(StateError, match="is running already, in this process"):
        app.start(broker=project.address, quiet=True)
    assert first.wait(SECONDS).totals[0].rows_out == 1
    heard = Batches()
    put(project, topic, {"v": 2})
    second = app.start(broker=project.address, on_event=heard, quiet=True)
    heard.rows(1)
    # The first handle is that of a run that has ended: it stops nothing.
    first.stop()
    put(project, topic, {"v": 3})
    heard.rows(2)
    assert (first.running, second.running) == (False, True)
    second.stop()
    second.wait(SECONDS)


def test_stop_may_come_before_anything_has_begun_and_from_several_threads(project: Any, topic: str) -> None:
    put(project, topic, {"v": 1})
    run = copying("out", topic).start(broker=project.address, quiet=True)
    threads = [threading.Thread(target=run.stop) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not run.wait(SECONDS).complete


def test_a_function_that_handles_a_row_may_stop_the_run(project: Any, topic: str) -> None:
    put(project, topic, {"v": 1})
    runs: list[hr.Run] = []
    known = threading.Event()

    def handle(row: dict[str, Any], id: str) -> None:
        known.wait(SECONDS)
        runs[0].stop()

    app = hr.App(f"handled-{topic}")
    app.stream(topic, schema="v int").to(hr.sinks.call(handle))
    runs.append(app.start(broker=project.address, quiet=True))
    known.set()
    assert runs[0].wait(SECONDS).totals[0].rows_in == 1


def test_a_listener_that_raises_is_reported_once_and_the_run_goes_on(project: Any, topic: str) -> None:
    put(project, topic, {"v": 1})
    heard: list[Event] = []

    def broken(event: Event) -> None:
        heard.append(event)
        raise ValueError("no")

    summary = copying("out", topic).start(until="now", broker=project.address, on_event=broken, quiet=True).wait(SECONDS)
    assert summary.totals[0].rows_out == 1
    notes = [event.text for event in heard if isinstance(event, Note) and "listener" in event.text]
    assert len(notes) == 1
    assert notes[0].endswith("broken failed at Note, and the run continues: ValueError: no")


def test_a_mistake_in_the_program_comes_from_start_and_what_the_broker_lacks_from_wait(
    project: Any, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(PlanError, match="writes nothing"):
        hr.App("empty").start(broker=project.address)
    with pytest.raises(PlanError, match="until='tomorrow' is not known"):
        copying("out", topic).start(until="tomorrow", broker=project.address)  # pyright: ignore[reportArgumentType]
    run = copying("out", topic).start(broker=project.address)
    with pytest.raises(TopicError, match=f"there is no topic {topic}"):
        run.wait(SECONDS)
    assert isinstance(run.failure, TopicError)
    assert f"out-{topic} failed: there is no topic {topic}" in capsys.readouterr().err


def test_after_a_failure_the_application_starts_again(project: Any, topic: str) -> None:
    put(project, topic, {"v": "many"})
    heard = Batches()
    run = copying("out", topic, bad="fail").start(broker=project.address, on_event=heard, quiet=True)
    with pytest.raises(BadRecord):
        run.wait(SECONDS)
    last = heard.heard[-1]
    assert isinstance(last, Failed)
    assert last.error is run.failure
    assert last.where is not None
    assert last.where.file.endswith("test_handle.py")
    with pytest.raises(BadRecord), run:
        pass
    summary = copying("out", topic, bad="skip").start(until="now", broker=project.address, quiet=True).wait(SECONDS)
    assert summary.totals[0].bad == 1


def test_an_error_in_the_block_is_not_hidden_by_one_of_the_run(project: Any, topic: str) -> None:
    with pytest.raises(ZeroDivisionError), copying("out", topic).start(broker=project.address, quiet=True):
        raise ZeroDivisionError


def test_a_program_that_ends_stops_its_runs(project: Any, topic: str, tmp_path: Path) -> None:
    topics.create(project.connection, topic)
    put(project, topic, {"v": 1})
    (tmp_path / "app.py").write_text(
        f"""
import threading
import headrace as hr

app = hr.App("ends-{topic}")
app.stream("{topic}", schema="v int").to("{topic}-ends")
done = threading.Event()
app.start(broker="{project.address}", on_event=lambda event: done.set() if hasattr(event, "batch") else None)
assert done.wait({SECONDS})
"""
    )
    ended = subprocess.run([sys.executable, "app.py"], capture_output=True, text=True, timeout=SECONDS)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.splitlines()[-1] == f"ends-{topic} stopped"
    assert "Traceback" not in ended.stderr


def test_events_are_a_closed_union() -> None:
    classes = {kind for kind in vars(events).values() if isinstance(kind, type) and hasattr(kind, "__dataclass_fields__")}
    assert set(Event.__args__) == classes


def test_nobody_uses_spark_after_a_run() -> None:
    assert sharing._users == []
