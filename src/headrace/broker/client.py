"""Kafka client settings: what users may set, and how librdkafka and the Java clients want it said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from headrace.errors import ConfigError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer

ALLOWED: Mapping[str, str] = MappingProxyType(
    {
        "security.protocol": "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL",
        "sasl.mechanism": "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512",
        "sasl.username": "user of the mechanism",
        "sasl.password": "password of the mechanism",
        "sasl.jaas.config": "user and password in Java's form, instead of the two",
        "ssl.ca.location": "PEM file with the certificates to trust",
        "ssl.certificate.location": "PEM file with the client's certificate",
        "ssl.key.location": "PEM file with the client's private key (PKCS#8)",
        "ssl.key.password": "password of the private key",
        "ssl.endpoint.identification.algorithm": "https, or none to accept any host name",
        "client.dns.lookup": "use_all_dns_ips or resolve_canonical_bootstrap_servers_only",
        "client.rack": "the rack to read from",
    }
)
FILE = "client.properties"
"""Beside the embedded broker's data: how it is reached, if it has a password; as librdkafka has it."""
SECRET = frozenset({"sasl.password", "sasl.jaas.config", "ssl.key.password"})
_SAME_IN_JAVA = (
    "security.protocol",
    "sasl.mechanism",
    "sasl.jaas.config",
    "ssl.key.password",
    "client.dns.lookup",
    "client.rack",
)
_LOGIN = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


@dataclass(frozen=True)
class Connection:
    """A broker's address and the settings to reach it with."""

    address: str
    kafka: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def librdkafka(self, **more: Any) -> dict[str, Any]:
        """Settings for confluent-kafka; `group_id="x"` is group.id."""
        settings = {name: value for name, value in self.kafka.items() if name != "sasl.jaas.config"}
        jaas = self.kafka.get("sasl.jaas.config")
        if jaas is not None:
            settings["sasl.username"] = _jaas_field(jaas, "username")
            settings["sasl.password"] = _jaas_field(jaas, "password")
        return {
            "bootstrap.servers": self.address,
            # What librdkafka has to say comes back as errors; its own log lines would only repeat them.
            "log_level": 0,
            "socket.connection.setup.timeout.ms": 4000,
            **settings,
            **{name.replace("_", "."): value for name, value in more.items()},
        }

    def java(self) -> dict[str, str]:
        """Settings for Java clients. Files go in by content, so that executors on other machines need no copy."""
        given = self.kafka
        settings = {"bootstrap.servers": self.address, **{name: given[name] for name in _SAME_IN_JAVA if name in given}}
        if "sasl.username" in given:
            login = _LOGIN[given.get("sasl.mechanism", "PLAIN")]
            user, password = _quoted(given["sasl.username"]), _quoted(given.get("sasl.password", ""))
            settings["sasl.jaas.config"] = f"{login} required username={user} password={password};"
        if "ssl.ca.location" in given:
            settings["ssl.truststore.type"] = "PEM"
            settings["ssl.truststore.certificates"] = _pem(given, "ssl.ca.location")
        if "ssl.certificate.location" in given:
            settings["ssl.keystore.type"] = "PEM"
            settings["ssl.keystore.certificate.chain"] = _pem(given, "ssl.certificate.location")
            settings["ssl.keystore.key"] = _pem(given, "ssl.key.location")
        algorithm = given.get("ssl.endpoint.identification.algorithm")
        if algorithm is not None:
            settings["ssl.endpoint.identification.algorithm"] = "" if algorithm == "none" else algorithm
        return settings

    def spark(self) -> dict[str, str]:
        """The same as options of Spark's Kafka source and sink."""
        return {f"kafka.{name}": value for name, value in self.java().items()}

    def __reduce__(self) -> tuple[type[Connection], tuple[str, dict[str, str]]]:
        return Connection, (self.address, dict(self.kafka))

    @cached_property
    def admin(self) -> Any:
        """An AdminClient; Any, since its stubs leave every result unknown."""
        from confluent_kafka.admin import AdminClient

        return AdminClient(self.librdkafka())

    @cached_property
    def sender(self) -> Producer:
        """An idempotent producer, kept: it takes half a second to get its id from the broker."""
        # Java's partitioner, so that a key lands where Kafka Streams, Flink or Spark would put it.
        return self.producer(partitioner="murmur2_random", enable_idempotence=True, linger_ms=20)

    def forget_sender(self) -> None:
        """After a failure: records may still be on their way in it."""
        self.__dict__.pop("sender", None)

    def consumer(self, **more: Any) -> Consumer:
        from confluent_kafka import Consumer

        return Consumer(self.librdkafka(**more))

    def producer(self, **more: Any) -> Producer:
        from confluent_kafka import Producer

        return Producer(self.librdkafka(**more))


def read(file: Path) -> dict[str, str]:
    """Settings as they stand in a file; none if there is no such file."""
    try:
        lines = file.read_text().splitlines()
    except FileNotFoundError:
        return {}
    except OSError as e:
        raise ConfigError(f"can't read {file}: {e.strerror}", fix="the embedded broker belongs to another user") from e
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def check(kafka: Mapping[str, str], origin: Mapping[str, str]) -> None:
    """Says what is wrong with these settings before a client does, in a language of its own."""
    mechanism = kafka.get("sasl.mechanism")
    if mechanism is not None and mechanism not in _LOGIN:
        raise ConfigError(f"sasl.mechanism is {mechanism} ({origin['sasl.mechanism']})", fix=f"one of {', '.join(_LOGIN)}")
    protocol = kafka.get("security.protocol", "PLAINTEXT")
    if protocol not in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"):
        raise ConfigError(f"security.protocol is {protocol} ({origin['security.protocol']})", fix=ALLOWED["security.protocol"])
    for name, needs in (
        ("sasl.username", "sasl.password"),
        ("sasl.password", "sasl.username"),
        ("ssl.certificate.location", "ssl.key.location"),
        ("ssl.key.location", "ssl.certificate.location"),
    ):
        if name in kafka and needs not in kafka:
            raise ConfigError(f"{name} is set ({origin[name]}) without {needs}", fix=f"set {needs} too")
    if "sasl.username" in kafka and "sasl.jaas.config" in kafka:
        raise ConfigError("both sasl.username and sasl.jaas.config are set", fix="keep one of them")
    login = [name for name in ("sasl.username", "sasl.jaas.config") if name in kafka]
    if login and not protocol.startswith("SASL"):
        raise ConfigError(f"{login[0]} is set and security.protocol is {protocol}", fix="security.protocol = SASL_SSL")
    if "sasl.jaas.config" in kafka:
        for part in ("username", "password"):
            _jaas_field(kafka["sasl.jaas.config"], part)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _jaas_field(jaas: str, name: str) -> str:
    match = re.search(rf'\b{name}\s*=\s*(?:"((?:\\.|[^"\\])*)"|(\S+?))\s*(?:;|\s|$)', jaas)
    if match is None:
        raise ConfigError(f"sasl.jaas.config has no {name}", fix="set sasl.username and sasl.password instead")
    return re.sub(r"\\(.)", r"\1", match[1]) if match[1] is not None else match[2]


def _pem(settings: Mapping[str, str], name: str) -> str:
    try:
        return Path(settings[name]).expanduser().read_text()
    except OSError as e:
        raise ConfigError(f"can't read {settings[name]}, the {name}: {e.strerror}", fix=f"correct {name}") from e
