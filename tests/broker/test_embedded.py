from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.broker import embedded, peek, send, topics
from headrace.broker.client import Connection
from headrace.config import Config
from headrace.errors import BrokerError


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Config]:
    """A broker for these tests alone: they stop and kill it. It runs when a test begins and when it ends."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    loaded = Config.load({}, cwd=tmp_path_factory.mktemp("lifecycle"), environ={})
    config = replace(loaded, port=port)
    connection = Connection(embedded.up(config))
    topics.create(connection, "kept", partitions=1)
    send.send(connection, "kept", send.rows([{"n": n} for n in range(100)]))
    yield config
    embedded.down(config)


def kept(address: str) -> int:
    return len(list(peek.read(Connection(address), "kept")))


def test_a_second_up_finds_the_first(config: Config) -> None:
    before = embedded.status(config)
    began = time.monotonic()
    assert embedded.up(config) == before.address
    assert time.monotonic() - began < 2
    assert embedded.status(config).pid == before.pid


def test_it_listens_on_loopback_only_and_in_a_session_of_its_own(config: Config) -> None:
    status = embedded.status(config)
    assert status.pid is not None
    assert os.getsid(status.pid) == status.pid
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(("192.0.2.1", 9))
        outside = s.getsockname()[0]
    with socket.socket() as s:
        assert s.connect_ex((outside, config.port)) != 0


def test_a_restart_keeps_the_data_and_the_port(config: Config) -> None:
    address = embedded.status(config).address
    assert embedded.down(config)
    assert not embedded.status(config).running
    assert not embedded.down(config)
    assert embedded.up(config) == address
    assert kept(address) == 100


def test_after_kill_9_two_ups_at_once_start_one_broker_with_the_data(config: Config) -> None:
    before = embedded.status(config)
    assert before.pid is not None
    program = (
        "from headrace.config import Config; from headrace.broker import embedded\n"
        "config = Config.load({}, environ={}); print(embedded.up(config), embedded.status(config).pid)"
    )
    os.kill(before.pid, signal.SIGKILL)
    both = [subprocess.Popen([sys.executable, "-c", program], cwd=config.root, stdout=subprocess.PIPE) for _ in range(2)]
    first, second = (one.communicate()[0].decode().split() for one in both)
    assert first == second
    assert first[0] == before.address
    assert first[1] != str(before.pid)
    assert kept(first[0]) == 100


def test_a_taken_port_is_left_for_another_and_the_data_comes_along(config: Config) -> None:
    embedded.down(config)
    said: list[str] = []
    with socket.create_server(("127.0.0.1", config.port)):
        address = embedded.up(config, said.append)
    assert address != f"127.0.0.1:{config.port}"
    assert f"port {config.port} is taken" in said[0]
    assert kept(address) == 100
    topics.create(Connection(address), "after-the-move")


def test_an_explicit_port_that_is_taken_is_an_error(tmp_path: Path, free_port: int) -> None:
    config = Config.load({"port": str(free_port)}, cwd=tmp_path, environ={})
    with (
        socket.create_server(("127.0.0.1", free_port)),
        pytest.raises(
            BrokerError, match=rf"port {free_port} is taken by another program, and flag --port asks for it\n  fix: "
        ),
    ):
        embedded.up(config)


def test_another_explicit_port_than_that_of_the_running_broker_is_an_error(config: Config, free_port: int) -> None:
    asked = Config.load({"port": str(free_port)}, cwd=config.root, environ={})
    with pytest.raises(BrokerError, match=r"runs at 127.0.0.1:\d+, and flag --port asks for .*\n  fix: headrace down"):
        embedded.up(asked)


def test_the_pid_of_another_process_is_not_taken_for_the_broker(tmp_path: Path) -> None:
    config = Config.load({}, cwd=tmp_path, environ={})
    home = embedded.folder(config)
    home.mkdir(parents=True)
    (home / "broker.json").write_text(json.dumps({"port": 9092, "pid": os.getpid(), "started": 0.0}))
    assert not embedded.status(config).running
    assert not embedded.down(config)


def test_a_broker_that_dies_at_start_tells_why(tmp_path: Path, free_port: int) -> None:
    config = Config.load({"port": str(free_port), "broker_memory": "1k"}, cwd=tmp_path, environ={})
    with pytest.raises(BrokerError, match=r"(?s)stopped while it was starting\n.*heap.*\n  fix: see .*broker.log"):
        embedded.up(config)
    assert not embedded.status(config).running
