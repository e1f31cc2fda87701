from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from headrace.broker import connect
from headrace.config import Config
from headrace.errors import BrokerError


def test_a_named_broker_that_answers_is_taken(broker, tmp_path: Path) -> None:
    assert connect.resolve(Config.load({"broker": broker.address}, cwd=tmp_path, environ={})) == broker.address


def test_the_embedded_broker_is_found_by_its_project(broker) -> None:
    assert connect.connect(broker.config).address == broker.address


def test_a_named_broker_that_does_not_answer_is_an_error_within_seconds(tmp_path: Path, free_port: int) -> None:
    config = Config.load({}, cwd=tmp_path, environ={"HEADRACE_BROKER": f"127.0.0.1:{free_port}"})
    began = time.monotonic()
    with pytest.raises(
        BrokerError, match=rf"no Kafka broker answers at 127.0.0.1:{free_port} \(HEADRACE_BROKER\)\n  fix: start it"
    ):
        connect.resolve(config)
    assert time.monotonic() - began < 7


def test_a_port_that_does_not_speak_kafka_is_distinguished_from_one_that_is_closed(tmp_path: Path, free_port: int) -> None:
    config = Config.load({"broker": f"127.0.0.1:{free_port}"}, cwd=tmp_path, environ={})
    with (
        socket.create_server(("127.0.0.1", free_port)),
        pytest.raises(
            BrokerError, match=r"something listens at .* does not answer as a Kafka broker\n  fix: check security.protocol"
        ),
    ):
        connect.require(config.connection(config.broker), "here", seconds=1)
