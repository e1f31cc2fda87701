"""The Kafka process: its files, its command line, its last words."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path

from headrace import jars, private
from headrace.broker import client
from headrace.errors import BrokerError

LOG = "broker.log"
_OUT = "broker.out"
_DATA = "data"
_JAVA = "java-client.properties"
_USER = "headrace"

_SERVER = """\
# Written at every start of the embedded broker.
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:{protocol},CONTROLLER:{protocol}
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
# A static quorum reads its address here, not from the data: another port at the next start does no harm.
controller.quorum.voters=1@127.0.0.1:{controller_port}
log.dirs=data
auto.create.topics.enable=false
num.partitions=4
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=8
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=8
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=8
group.initial.rebalance.delay.ms=0
# After a kill the controller waits for the old session to end before it lets the node in again: 9 s by default.
broker.session.timeout.ms=4000
broker.heartbeat.interval.ms=1000
# The default of 128 MB is a quarter of the heap.
log.cleaner.dedupe.buffer.size=16777216
"""

# Also of the node to itself: its controller would otherwise take orders from everybody.
_LOGIN = """\
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
sasl.mechanism.controller.protocol=PLAIN
listener.name.plaintext.plain.sasl.jaas.config={login}
listener.name.controller.plain.sasl.jaas.config={login}
"""
_JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{user}" password="{password}"'

_LOGGING = """\
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = broker.log
appender.file.filePattern = broker.%i.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{ISO8601} %p %c{1}: %m%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
"""


def version() -> str:
    return next(pin.coordinate for pin in jars.pins("broker") if ":kafka_" in pin.coordinate).rpartition(":")[2]


def mark(home: Path) -> str:
    """What the broker of this folder carries on its command line."""
    return f"-Dheadrace.broker={home}"


def prepare(java: Path, home: Path, port: int, controller_port: int, *, password: bool) -> None:
    """Writes the settings, and those for clients; formats the data folder at the first start."""
    protocol = "SASL_PLAINTEXT" if password else "PLAINTEXT"
    settings = _SERVER.format(port=port, controller_port=controller_port, protocol=protocol)
    private.write(home / "server.properties", settings + (_admit(home, protocol) if password else ""))
    if not password:
        for name in (client.FILE, _JAVA):
            (home / name).unlink(missing_ok=True)
    (home / "log4j2.properties").write_text(_LOGGING)
    if (home / _DATA / "meta.properties").exists():
        return
    # A format that was interrupted leaves a folder without meta.properties: nothing is in it yet.
    shutil.rmtree(home / _DATA, ignore_errors=True)
    cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A", 1)
    done = subprocess.run(
        [
            *(java, "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            *("kafka.tools.StorageTool", "format", "--cluster-id", cluster, "--config", "server.properties"),
        ],
        cwd=home,
        env=_environment(),
        capture_output=True,
        text=True,
        umask=0o077,
    )
    if done.returncode != 0:
        said = (done.stderr + done.stdout).strip().splitlines()[-3:]
        raise BrokerError("can't prepare the broker's data folder\n  " + "\n  ".join(said), fix=f"look at {home}")


def _admit(home: Path, protocol: str) -> str:
    """A password of this broker, kept for its life; the files with which clients log in."""
    known = client.read(home / client.FILE).get("sasl.password") or secrets.token_urlsafe(24)
    jaas = _JAAS.format(user=_USER, password=known)
    shared = f"security.protocol={protocol}\nsasl.mechanism=PLAIN\n"
    private.write(home / client.FILE, f"{shared}sasl.username={_USER}\nsasl.password={known}\n")
    private.write(home / _JAVA, f"{shared}sasl.jaas.config={jaas};\n")
    return _LOGIN.format(login=f'{jaas} user_{_USER}="{known}";')


def start(java: Path, home: Path, memory: str) -> subprocess.Popen[bytes]:
    """Starts the node in a session of its own: Ctrl-C in an application does not reach it."""
    with (home / _OUT).open("wb") as out:
        return subprocess.Popen(
            [
                *(java, mark(home), f"-Xmx{memory}", "-XX:+UseG1GC", "-XX:+ExitOnOutOfMemoryError"),
                *("-Dlog4j2.configurationFile=log4j2.properties", "kafka.Kafka", "server.properties"),
            ],
            cwd=home,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            umask=0o077,
        )


def last_words(home: Path) -> str:
    """The lines of the log that tell why the node stopped."""
    lines: list[str] = []
    for name in (LOG, _OUT):
        if (home / name).exists():
            lines += (home / name).read_text(errors="replace").splitlines()[-200:]
    telling = [line for line in lines if re.search(r"\b(ERROR|FATAL)\b|^Caused by|Exception:|Error:", line)]
    return "\n".join("  " + line.strip()[:300] for line in (telling or lines)[-5:])


def _environment() -> dict[str, str]:
    # By environment, not by option: the command line stays readable in ps.
    return {**os.environ, "CLASSPATH": os.pathsep.join(map(str, jars.broker_jars()))}
