"""One run of an application at a time, wherever its state is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.broker import topics
from headrace.errors import StateError
from headrace.runtime.checkpoints.ownership import Lease, owned

HOLDER = """
import sys
from headrace.broker.client import Connection
from headrace.runtime.checkpoints.ownership import Lease

with Lease(Connection(sys.argv[1]), "app", sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(broker: Any, topic: str) -> Iterator[subprocess.Popen[str]]:
    topics.create(broker.connection, topic, partitions=1)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, broker.address, topic], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait()


def test_a_lease_is_held_by_one_and_goes_to_the_next_when_it_is_given_back(
    broker: Any, topic: str, holder: subprocess.Popen[str]
) -> None:
    for _ in range(2):
        with pytest.raises(StateError, match=f"'app' is running already, as process {holder.pid} of"):
            Lease(broker.connection, "app", topic).__enter__()
    assert holder.poll() is None
    holder.communicate("")
    with Lease(broker.connection, "app", topic) as lease:
        lease.check()


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.soak)])
def test_a_lease_of_a_run_that_was_killed_or_froze_goes_to_the_next(
    broker: Any, topic: str, holder: subprocess.Popen[str], how: signal.Signals
) -> None:
    holder.send_signal(how)
    with Lease(broker.connection, "app", topic) as lease:
        holder.send_signal(signal.SIGCONT)
        lease.check()
        with pytest.raises(StateError, match=f"as process {os.getpid()} of"):
            Lease(broker.connection, "app", topic).__enter__()


def test_a_folder_is_locked_whatever_happens_to_the_one_who_asks_second(tmp_path: Path) -> None:
    with owned(str(tmp_path), "app", print):
        for _ in range(2):
            with pytest.raises(StateError, match=f"as process {os.getpid()}"), owned(str(tmp_path), "app", print):
                raise AssertionError
    with owned(str(tmp_path), "app", print):
        pass


def test_an_error_of_the_run_is_not_taken_for_one_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(ConnectionRefusedError), owned(str(tmp_path), "app", print):
        raise ConnectionRefusedError
