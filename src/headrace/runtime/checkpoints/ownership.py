"""One run of an application at a time: who has its state."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from confluent_kafka import Consumer, KafkaException

from headrace import locks, private
from headrace.broker.client import Connection
from headrace.errors import BrokerError, ConfigError, StateError

LOCK = "lock"
_PATIENCE = 30.0
"""For the Spark of a run that was killed: it notices a moment later that it is alone."""
_LEASE_SECONDS = 10.0
_LEASE_PATIENCE = 60.0
_LEASE_TICK = 0.2


@contextmanager
def owned(root: str, app: str, say: Callable[[str], None]) -> Generator[int | None]:
    """Locks the application's state, and yields what Spark has to hold as well (None where the state is not on a disk)."""
    if "://" in root:
        yield None
        return
    with ExitStack() as stack:
        try:
            file = _locked(stack, Path(root) / app, app, say)
        except OSError as e:
            raise ConfigError(
                f"the state can't be kept in {root}: {e.strerror}", fix="headrace config shows where `state` is set"
            ) from e
        yield file


def _locked(stack: ExitStack, folder: Path, app: str, say: Callable[[str], None]) -> int:
    # What is kept there are the users' data. A root that is there already may be of more than ours.
    if not folder.parent.exists():
        private.folder(folder.parent)
    private.folder(folder)
    said, end = False, time.monotonic() + _PATIENCE
    while True:
        try:
            return stack.enter_context(locks.held(folder / LOCK))
        except locks.Taken as e:
            if e.pid is None or locks.alive(e.pid) or time.monotonic() > end:
                raise StateError(
                    f"the application {app!r} is running already, as process {e.pid or 'unknown'}",
                    fix="stop that one first, or give this one another name",
                ) from None
            if not said:
                said = True
                say(f"waiting for the Spark of process {e.pid}, which was killed, to end ...")
        time.sleep(0.1)


class Lease:
    """One run at a time, where no lock reaches: a consumer group of the broker, in which one member has the only partition.

    The broker decides who is alive, so no clock of ours counts: a member that it does not hear from for ten seconds is out, and
    one that comes while another is alive gets nothing. A run that was frozen, and wakes up after another took over, notices and
    ends; what it still writes in that moment does no harm, since a batch is noted in the checkpoint only once, and its
    transactions were fenced.
    """

    def __init__(self, connection: Connection, app: str, topic: str) -> None:
        self._connection, self._app, self._group = connection, app, f"{topic}.owner"
        self._topic = topic
        self._name = f"{socket.gethostname()}/{os.getpid()}/{uuid4().hex[:8]}"
        self._lost = False
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._stay, daemon=True)

    def __enter__(self) -> Lease:
        self._thread.start()
        try:
            end = time.monotonic() + _LEASE_PATIENCE
            while time.monotonic() < end:
                owners = self._owners()
                if self._name in owners:
                    return self
                if owners:
                    host, pid, _ = next(iter(owners)).rsplit("/", 2)
                    raise StateError(
                        f"the application {self._app!r} is running already, as process {pid} of {host}",
                        fix="stop that one first, or give this one another name",
                    )
                time.sleep(_LEASE_TICK)
        except BaseException:
            self.__exit__()
            raise
        self.__exit__()
        raise BrokerError(
            f"the broker does not say who runs the application {self._app!r} (consumer group {self._group})",
            fix="headrace status; a named broker has to allow this consumer group",
        )

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def check(self) -> None:
        """Raises once another run may have taken over."""
        if self._lost:
            raise StateError(
                f"the broker did not hear from this run of {self._app!r} for too long, and another one may have taken over",
                fix="look whether another one runs; if not, start it again: it resumes where it stopped",
            )

    def _owners(self) -> set[str]:
        """Who has the partition, once the group has settled: nobody yet, or one."""
        admin = self._connection.admin
        try:
            group = admin.describe_consumer_groups([self._group], request_timeout=_LEASE_SECONDS)[self._group].result()
        except KafkaException:
            return set()
        # Before we are in it, the group may still show one that is dead: our joining makes the broker ask all others.
        if group.state.name != "STABLE" or all(member.client_id != self._name for member in group.members):
            return set()
        return {member.client_id for member in group.members if member.assignment and member.assignment.topic_partitions}

    def _stay(self) -> None:
        def lost(consumer: Consumer, partitions: list[Any]) -> None:
            self._lost = not self._end.is_set()

        consumer = self._connection.consumer(
            group_id=self._group,
            client_id=self._name,
            # The first one keeps what it has when others come.
            partition_assignment_strategy="cooperative-sticky",
            session_timeout_ms=int(_LEASE_SECONDS * 1000),
            heartbeat_interval_ms=1000,
            enable_auto_commit=False,
        )
        try:
            consumer.subscribe([self._topic], on_revoke=lost, on_lost=lost)
            while not self._end.is_set():
                # Its records are not wanted.
                consumer.poll(_LEASE_TICK)
        finally:
            consumer.close()
