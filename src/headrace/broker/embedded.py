"""The embedded broker: one real Kafka node (KRaft) of the project, on 127.0.0.1, that outlives the command that started it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass
from pathlib import Path

from headrace import locks, private
from headrace.broker import client, node
from headrace.broker.client import Connection
from headrace.config import Config
from headrace.errors import BrokerError
from headrace.java import require_java

Say = Callable[[str], None]
HOST = "127.0.0.1"
START_SECONDS = 60.0
STOP_SECONDS = 20.0
_USERS = "users"


def to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Status:
    """What `headrace status` tells of the embedded broker; a stopped one keeps its port."""

    running: bool
    address: str | None
    pid: int | None
    started: float | None
    log: str


@dataclass(frozen=True, slots=True)
class _State:
    port: int
    pid: int | None = None
    started: float | None = None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"


def folder(config: Config) -> Path:
    return config.home / "broker"


def up(config: Config, say: Say = to_stderr) -> str:
    """Starts the project's broker, or finds it running; returns its address once it answers."""
    private.folder(config.home)
    home = private.folder(folder(config))
    with _locked(home, say):
        return _up(config, home, _read(home), say)


def revive(config: Config, say: Say = to_stderr) -> str:
    """The same for one that is in use: it is started again if it died, and not if somebody has stopped it."""
    home = folder(config)
    with _locked(home, say):
        state = _read(home)
        if state is None or state.pid is None:
            raise BrokerError(
                "the embedded broker was stopped while the application was running",
                fix="start the application again: it starts the broker, and resumes where it stopped",
            )
        return _up(config, home, state, say)


def _up(config: Config, home: Path, state: _State | None, say: Say) -> str:
    if state is not None and _is_ours(home, state.pid):
        if config.origins["port"] != "default" and config.port != state.port:
            raise BrokerError(
                f"the embedded broker runs at {state.address}, and {config.origins['port']} asks for port {config.port}",
                fix="headrace down, then start again",
            )
        # One that is just being killed looks alive for a moment more: then it is started anew.
        if _answers_at_last(home, state, lambda: _is_ours(home, state.pid), say):
            return state.address
    return _start(config, home, state, say).address


@contextlib.contextmanager
def using(config: Config, app: str) -> Generator[None]:
    """While it lasts, `users` knows of the application."""
    place = folder(config) / _USERS
    place.mkdir(parents=True, exist_ok=True)
    file = place / f"{app}.{os.getpid()}"
    with locks.held(file):
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


def users(config: Config) -> dict[int, str]:
    """The applications that run over the broker, by process."""
    found: dict[int, str] = {}
    for file in (folder(config) / _USERS).glob("*"):
        if locks.is_held(file):
            app, _, pid = file.name.rpartition(".")
            found[int(pid)] = app
        else:
            # One that was killed.
            file.unlink(missing_ok=True)
    return found


def _start(config: Config, home: Path, last: _State | None, say: Say) -> _State:
    java = require_java()
    port = _choose_port(config, last, say)
    node.prepare(java, home, port, _free_port(), password=config.broker_auth == "password")
    process = node.start(java, home, config.broker_memory)
    state = _State(port, process.pid, time.time())
    _write(home, state)
    if not _answers_at_last(home, state, lambda: process.poll() is None, say):
        raise BrokerError(
            "the embedded broker stopped while it was starting\n" + node.last_words(home), fix=f"see {home / node.LOG}"
        )
    return state


def down(config: Config, say: Say = to_stderr) -> bool:
    """Stops the broker; False when none was running. Its data stays."""
    home = folder(config)
    if not home.exists():
        return False
    with _locked(home, say):
        state = _read(home)
        if state is None or state.pid is None or not _is_ours(home, state.pid):
            return False
        os.kill(state.pid, signal.SIGTERM)
        if not _gone(home, state.pid, STOP_SECONDS):
            say(f"the broker (process {state.pid}) does not stop on its own: killing it; nothing acknowledged is lost")
            os.kill(state.pid, signal.SIGKILL)
            _gone(home, state.pid, 5)
        _write(home, _State(state.port))
        return True


def status(config: Config) -> Status:
    home = folder(config)
    state, log = _read(home), str(home / node.LOG)
    if state is None or not _is_ours(home, state.pid):
        return Status(False, None, None, None, log)
    return Status(True, state.address, state.pid, state.started, log)


def answers(connection: Connection, seconds: float) -> bool:
    """Whether a broker tells its metadata: an open port alone may be something else, or a broker that still starts."""
    from confluent_kafka import KafkaException

    try:
        return bool(connection.admin.list_topics(timeout=seconds).brokers)
    except KafkaException:
        return False


def _answers_at_last(home: Path, state: _State, alive: Callable[[], bool], say: Say) -> bool:
    """Waits for the broker to answer; False when its process ends before."""
    began, said = time.monotonic(), False
    while True:
        # librdkafka backs off after a refused connection, so it is asked only once the port is open.
        if _is_open(state.port) and answers(Connection(state.address, client.read(home / client.FILE)), 2.0):
            if said:
                say(f"Kafka answers at {state.address}")
            return True
        if not alive():
            return False
        waited = time.monotonic() - began
        if waited > START_SECONDS:
            raise BrokerError(
                f"the embedded broker (process {state.pid}) does not answer at {state.address} after {waited:.0f} s",
                fix=f"headrace down, then headrace up; its log is {home / node.LOG}",
            )
        if waited > 1 and not said:
            said = True
            say(f"starting Kafka {node.version()} at {state.address} …")
        time.sleep(0.05)


def _choose_port(config: Config, last: _State | None, say: Say) -> int:
    origin = config.origins["port"]
    if origin != "default":
        if not _is_free(config.port):
            raise BrokerError(
                f"port {config.port} is taken by another program, and {origin} asks for it",
                fix="stop that program, or choose another port; without a setting Headrace finds a free one",
            )
        return config.port
    wanted = last.port if last else config.port
    if _is_free(wanted):
        return wanted
    port = _free_port()
    say(f"port {wanted} is taken by another program: the embedded broker takes {port}")
    return port


def _is_free(port: int) -> bool:
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind((HOST, port))
        except OSError:
            return False
    return not _is_open(port)


def _is_open(port: int) -> bool:
    with socket.socket() as s:
        s.settimeout(1)
        return s.connect_ex((HOST, port)) == 0


def _free_port() -> int:
    with socket.socket() as s:
        s.bind((HOST, 0))
        return s.getsockname()[1]


def _is_ours(home: Path, pid: int | None) -> bool:
    """Process ids are used again: the command line tells whether this one is the broker of this folder."""
    if pid is None:
        return False
    proc = Path(f"/proc/{pid}/cmdline")
    if Path("/proc/self").exists():
        try:
            line = proc.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return False
    else:
        line = subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True).stdout
    return f"{node.mark(home)} " in line


def _gone(home: Path, pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not _is_ours(home, pid):
            return True
        time.sleep(0.05)
    return False


def _read(home: Path) -> _State | None:
    try:
        return _State(**json.loads((home / "broker.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _write(home: Path, state: _State) -> None:
    private.write(home / "broker.json", json.dumps(asdict(state)) + "\n")


@contextlib.contextmanager
def _locked(home: Path, say: Say) -> Generator[None]:
    with (home / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another command that starts or stops the broker …")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
