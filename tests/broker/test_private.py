"""Who may look: the embedded broker's files are its owner's, its ports are of this machine, and it can ask for a password."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.broker import connect, embedded, peek, send, topics
from headrace.broker.client import Connection
from headrace.broker.records import Record
from headrace.config import Config
from headrace.errors import BrokerError


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Config]:
    root = tmp_path_factory.mktemp("guarded")
    (root / "headrace.toml").write_text('broker_auth = "password"\n')
    config = Config.load({}, cwd=root, environ={})
    try:
        yield config
    finally:
        embedded.down(config)


def test_who_does_not_know_the_password_is_not_admitted_and_headrace_is(guarded: Config) -> None:
    connection = connect.connect(guarded)
    send.send(connection, "trades", [Record(b"1")], create=True)
    assert [record.value for record in peek.read(connection, "trades")] == [b"1"]
    with pytest.raises(BrokerError):
        connect.require(Connection(connection.address), "a stranger", seconds=3)
    wrong = {**connection.kafka, "sasl.password": "wrong"}
    with pytest.raises(BrokerError, match="refuses the connection"):
        connect.require(Connection(connection.address, wrong), "a stranger", seconds=3)
    # A password is for the broker's life: clients that know it still do.
    password = connection.kafka["sasl.password"]
    embedded.down(guarded)
    again = connect.connect(guarded)
    assert again.kafka["sasl.password"] == password
    assert topics.exists(again, "trades")
    assert password not in repr(again)


def test_nothing_of_it_can_be_read_by_others(guarded: Config) -> None:
    connect.connect(guarded)
    assert stat.S_IMODE(guarded.home.stat().st_mode) == 0o700
    home = embedded.folder(guarded)
    for file in (home, *home.rglob("*")):
        others = stat.S_IMODE(file.stat().st_mode) & 0o077
        assert others == 0 or file.name in ("log4j2.properties", "broker.out", "lock"), file


def test_it_listens_on_this_machine_only(guarded: Config) -> None:
    connect.connect(guarded)
    pid = embedded.status(guarded).pid
    inodes = {
        found[1]
        for link in Path(f"/proc/{pid}/fd").iterdir()
        if link.is_symlink() and (found := re.fullmatch(r"socket:\[(\d+)\]", str(link.readlink())))
    }
    listening = [
        fields[1]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
        if (fields := line.split())[3] == "0A" and fields[9] in inodes
    ]
    assert len(listening) == 2, "one for clients, one for the controller"
    loopback = ("0100007F", "0000000000000000FFFF00000100007F")
    assert all(address.split(":")[0] in loopback for address in listening)
