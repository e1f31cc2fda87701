from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.effects.dispatch import Dispatcher
from headrace.effects.effect import Effect
from headrace.effects.outbox import Outbox
from tests.effects.certificates import Certificates
from tests.effects.receivers import HttpReceiver, SmtpReceiver

MINUTE = 60_000_000


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.micros = 1_700_000_000_000_000

    def __call__(self) -> int:
        return self.micros

    def pass_by(self, seconds: float) -> None:
        self.micros += round(seconds * 1_000_000)


class Bench:
    """An outbox, a dispatcher, a clock, and what was said."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.outbox = Outbox(file)
        self.clock = Clock()
        self.said: list[str] = []
        self._dispatchers: list[Dispatcher] = []

    def start(self, *effects: Effect) -> Dispatcher:
        dispatcher = Dispatcher(self.file, effects, say=self.said.append, now=self.clock, share=lambda: 1.0)
        self._dispatchers.append(dispatcher)
        dispatcher.start()
        return dispatcher

    def insert(self, effect: Effect | str, **rows: Any) -> None:
        """insert(effect, a={"n": 1}): the id is a."""
        name = effect if isinstance(effect, str) else effect.name
        for id, row in rows.items():
            self.outbox.insert(name, [(id, row if isinstance(row, str) else json.dumps(row))], now=self.clock())
            self.clock.micros += 1

    def send(self, effect: Effect, **rows: Any) -> dict[str, str]:
        """What became of the rows after one round."""
        self.insert(effect, **rows)
        dispatcher = self.start(effect)
        assert dispatcher.wait_idle(20)
        assert dispatcher.stop()
        return {id: self.state(id) for id in rows}

    def state(self, id: str) -> str:
        entry = self.outbox.find(id)
        assert entry is not None
        return entry.state

    def cause(self, id: str) -> str:
        entry = self.outbox.find(id)
        assert entry is not None
        return entry.cause or ""

    def close(self) -> None:
        for dispatcher in self._dispatchers:
            dispatcher.stop()
        self.outbox.close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "state" / "market" / "effects.db")
    yield made
    made.close()


@pytest.fixture
def http() -> Iterator[HttpReceiver]:
    receiver = HttpReceiver()
    yield receiver
    receiver.close()


@pytest.fixture
def smtp() -> Iterator[Callable[..., SmtpReceiver]]:
    made: list[SmtpReceiver] = []

    def make(**options: Any) -> SmtpReceiver:
        made.append(SmtpReceiver(**options))
        return made[-1]

    yield make
    for receiver in made:
        receiver.close()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl command")
    return Certificates(tmp_path_factory.mktemp("certificates"))
