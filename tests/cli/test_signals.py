"""Signals at any moment of a run: it ends cleanly, says one line, and leaves no Spark behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from headrace.broker import embedded, topics
from headrace.config import Config

APP = """
import sys
import headrace as hr

app = hr.App("APP")
app.stream("IN", schema="v int").to("OUT")
print("declared", file=sys.stderr, flush=True)

if __name__ == "__main__":
    app.run(broker="BROKER")
    print("and on", file=sys.stderr)
"""
SECONDS = 120.0


class Run:
    """A process, and all that it starts, known by a variable of their environment."""

    def __init__(self, folder: Path, *command: str) -> None:
        self.mark = f"HEADRACE_TEST={uuid4().hex}"
        self._errors = folder / "stderr"
        name, _, value = self.mark.partition("=")
        with self._errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, *command],
                cwd=folder,
                env={**os.environ, name: value},
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )

    def said(self) -> str:
        return self._errors.read_text()

    def until(self, holds: Callable[[], object], what: str) -> None:
        end = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < end, f"{what}: {self.said()}"
            time.sleep(0.01)

    def family(self) -> dict[int, str]:
        """Command lines of all living processes of it."""
        found: dict[int, str] = {}
        for folder in Path("/proc").iterdir():
            try:
                ours = folder.name.isdigit() and self.mark.encode() in (folder / "environ").read_bytes().split(b"\0")
                if ours and (line := (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()):
                    found[int(folder.name)] = line
            except OSError:
                continue
        return found

    def spark(self) -> int | None:
        """Spark's process, if there is one; the scripts and the JVM that launch it carry its name too."""
        for pid, line in self.family().items():
            if re.match(r"\S*java .*org\.apache\.spark\.deploy\.SparkSubmit", line) and "launcher.Main" not in line:
                return pid
        return None

    def ended(self) -> int:
        code = self.process.wait(SECONDS)
        self.until(lambda: not self.family(), "what it left behind goes on running")
        return code

    def end(self) -> None:
        for pid in self.family():
            os.kill(pid, signal.SIGKILL)
        self.process.wait(SECONDS)


@pytest.fixture
def start(tmp_path: Path, topic: str, broker: Any) -> Iterator[Callable[..., Run]]:
    text = APP.replace("APP", f"app-{topic}").replace("IN", topic).replace("OUT", f"{topic}-out")
    (tmp_path / "app.py").write_text(text.replace("BROKER", broker.address))
    runs: list[Run] = []

    def started(*command: str) -> Run:
        runs.append(Run(tmp_path, *command))
        return runs[-1]

    yield started
    for run in runs:
        run.end()


MOMENTS: dict[str, Callable[[Run], object]] = {
    "declared": lambda run: "declared" in run.said(),
    "starting Spark": lambda run: "starting Spark" in run.said(),
    "a JVM": lambda run: run.spark(),
    "Spark is there": lambda run: "1 query, broker" in run.said(),
}


HEADRACE = ("-m", "headrace", "run", "app.py")
BOUNDED = (*HEADRACE, "--until", "now")


@pytest.mark.parametrize(
    ("command", "moment", "how", "codes", "line"),
    [
        (BOUNDED, "a JVM", signal.SIGTERM, (143,), "stopped before it had read all"),
        (("app.py",), "starting Spark", signal.SIGINT, (0,), "stopped"),
        *(
            pytest.param(*case, marks=pytest.mark.soak)
            for case in (
                (HEADRACE, "declared", signal.SIGINT, (0, 130), "inter"),
                (HEADRACE, "declared", signal.SIGTERM, (0, 143), "term"),
                (HEADRACE, "starting Spark", signal.SIGTERM, (0,), "stopped"),
                (HEADRACE, "a JVM", signal.SIGINT, (0,), "stopped"),
                (HEADRACE, "Spark is there", signal.SIGTERM, (0,), "stopped"),
                (BOUNDED, "starting Spark", signal.SIGINT, (130,), "stopped before it had read all"),
                (("app.py",), "a JVM", signal.SIGINT, (0,), "stopped"),
                (("app.py",), "Spark is there", signal.SIGTERM, (0,), "stopped"),
            )
        ),
    ],
)
def test_a_run_that_is_stopped_early_says_one_line_and_leaves_no_spark(
    broker: Any,
    topic: str,
    start: Callable[..., Run],
    command: tuple[str, ...],
    moment: str,
    how: signal.Signals,
    codes: tuple[int, ...],
    line: str,
) -> None:
    topics.create(broker.connection, topic)
    run = start(*command, *(("--broker", broker.address) if "headrace" in command else ()))
    run.until(lambda: MOMENTS[moment](run), moment)
    run.process.send_signal(how)
    assert run.ended() in codes, run.said()
    assert "Traceback" not in run.said()
    last = [said for said in run.said().splitlines() if said != "and on"][-1]
    assert line in last or "stopped" in last


def test_a_second_signal_ends_it_at_once_and_leaves_no_spark(broker: Any, topic: str, start: Callable[..., Run]) -> None:
    topics.create(broker.connection, topic)
    run = start("-m", "headrace", "run", "app.py", "--broker", broker.address)
    run.until(run.spark, "a JVM")
    run.process.send_signal(signal.SIGINT)
    run.process.send_signal(signal.SIGTERM)
    assert run.ended() in (0, 143)
    assert "Traceback" not in run.said()


def test_a_topic_that_is_missing_and_a_second_run_are_reported_before_spark_has_started(
    broker: Any, topic: str, tmp_path: Path, start: Callable[..., Run]
) -> None:
    headrace = ("-m", "headrace", "run", "app.py", "--broker", broker.address)
    run = start(*headrace)
    assert run.ended() == 1
    assert f"error: there is no topic {topic}" in run.said()
    assert f"fix: headrace topics create {topic}" in run.said()
    assert "1 query, broker" not in run.said(), "it waited for Spark"
    topics.create(broker.connection, topic)
    first = start(*headrace)
    first.until(lambda: "starting Spark" in first.said(), "the first run")
    # The same folder in another form is the same state.
    second = start(*headrace, "--state", f"file://{tmp_path}/.headrace/state")
    assert second.ended() == 1
    assert f"is running already, as process {first.process.pid}" in second.said()
    assert "starting Spark" not in second.said()


@pytest.mark.soak
def test_a_run_waits_for_the_spark_of_one_that_was_killed(broker: Any, topic: str, start: Callable[..., Run]) -> None:
    topics.create(broker.connection, topic)
    headrace = ("-m", "headrace", "run", "app.py", "--broker", broker.address, "--until", "now")
    first = start(*headrace)
    first.until(first.spark, "a JVM")
    spark = first.spark()
    assert spark is not None
    os.kill(spark, signal.SIGSTOP)
    first.process.kill()
    first.process.wait(SECONDS)
    second = start(*headrace)
    second.until(lambda: f"waiting for the Spark of process {first.process.pid}" in second.said(), "the wait")
    assert "starting Spark" not in second.said()
    os.kill(spark, signal.SIGCONT)
    assert second.ended() == 0


@pytest.mark.soak
def test_the_broker_of_a_running_application_is_stopped_by_force_only(
    tmp_path: Path, topic: str, start: Callable[..., Run]
) -> None:
    config = Config.load({}, cwd=tmp_path, environ={})
    (tmp_path / "headrace.toml").write_text("")
    try:
        topics.create(config.connection(embedded.up(config)), topic)
        run = start("-m", "headrace", "run", "app.py")
        run.until(lambda: "batch 0" in run.said(), "the run")
        down = start("-m", "headrace", "down")
        assert down.process.wait(SECONDS) == 1
        assert f"'app-{topic}' (process {run.process.pid}) is using the embedded broker" in down.said()
        assert "headrace down --force" in down.said()
        assert embedded.status(config).running
        down = start("-m", "headrace", "down", "--force")
        assert down.process.wait(SECONDS) == 0
        assert run.ended() == 1
        assert "error: the embedded broker was stopped while the application was running" in run.said()
        assert not embedded.status(config).running
        assert embedded.users(config) == {}
    finally:
        embedded.down(config)
