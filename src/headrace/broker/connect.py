"""From the settings to a broker that answers."""

from __future__ import annotations

import socket
from typing import Any

from headrace.broker import embedded
from headrace.broker.client import Connection
from headrace.broker.embedded import Say, to_stderr
from headrace.config import Config
from headrace.errors import BrokerError

REACH_SECONDS = 5.0


def resolve(config: Config, say: Say = to_stderr) -> str:
    """The address of the named broker, or of the embedded one, started if it has to be."""
    return connect(config, say).address


def connect(config: Config, say: Say = to_stderr) -> Connection:
    """The same with the settings that clients need; it has answered."""
    if config.embedded:
        return config.connection(embedded.up(config, say))
    connection = config.connection(config.broker)
    require(connection, config.origins["broker"])
    return connection


def require(connection: Connection, origin: str, seconds: float = REACH_SECONDS) -> None:
    """Raises unless a broker answers, with what the client saw on the way."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient

    seen: list[KafkaError] = []
    conf: dict[str, Any] = {**connection.librdkafka(), "error_cb": seen.append}
    admin = AdminClient(conf)
    try:
        admin.list_topics(timeout=seconds)
    except KafkaException as e:
        admin.poll(0)  # hands over what error_cb has to say
        refused = [error for error in seen if error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL)]  # pyright: ignore
        if refused:
            raise BrokerError(
                f"the Kafka broker at {connection.address} refuses the connection: {refused[0].str()}",
                fix="check the [kafka] settings; headrace config shows them and where they come from",
            ) from e
        if _listens(connection.address):
            raise BrokerError(
                f"something listens at {connection.address} ({origin}), but does not answer as a Kafka broker",
                fix="check security.protocol of the [kafka] settings (headrace config shows it) and the address",
            ) from e
        raise BrokerError(
            f"no Kafka broker answers at {connection.address} ({origin})",
            fix="start it, correct the address, or take the embedded one: --broker embedded",
        ) from e


def _listens(addresses: str) -> bool:
    host, _, port = addresses.split(",")[0].strip().rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=1):
            return True
    except OSError:
        return False
