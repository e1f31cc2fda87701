"""`headrace dev` as people use it: a process that is left running while a file is edited."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.broker import send, topics

SECONDS = 180.0
APP = """
import headrace as hr
from rates import RATE

app = hr.App("APP")
trades = app.stream("IN", schema="symbol string, price int")
trades.where("price > 1").with_columns(value=f"price * {RATE}").to("OUT")
trades.key_by("symbol").agg(total="sum(price)").to(hr.sinks.sqlite("file.db", table="totals"))
"""


class Dev:
    """A running `headrace dev`, and what it has said so far."""

    def __init__(self, folder: Path, *flags: str) -> None:
        command = [sys.executable, "-m", "headrace", "dev", "app.py", *flags]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        self._lines: list[str] = []
        self._new = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        self._at = 0

    def _read(self) -> None:
        for line in self.process.stdout or ():
            with self._new:
                self._lines.append(line.rstrip())
                self._new.notify_all()

    def says(self, text: str) -> str:
        """Waits for a line with this in it, after those that were waited for before."""

        def found() -> int | None:
            return next((n for n, line in enumerate(self._lines[self._at :], self._at) if text in line), None)

        with self._new:
            assert self._new.wait_for(lambda: found() is not None, SECONDS), "\n".join(["", *self._lines])
            self._at = (found() or 0) + 1
            return self._lines[self._at - 1]

    @property
    def said(self) -> str:
        return "\n".join(self._lines)


@pytest.fixture
def dev(broker: Any, topic: str, tmp_path: Path) -> Iterator[Dev]:
    send.send(broker.connection, topic, send.rows([{"symbol": "A", "price": 1}, {"symbol": "A", "price": 2}]), create=True)
    (tmp_path / "app.py").write_text(APP.replace("APP", f"app-{topic}").replace("IN", topic).replace("OUT", f"{topic}-out"))
    (tmp_path / "rates.py").write_text("RATE = 10\n")
    started = Dev(tmp_path, "--broker", broker.address)
    yield started
    if started.process.poll() is None:
        started.process.kill()
        started.process.wait(30)


def test_results_follow_every_save_and_mistakes_are_shown_where_they_are(
    broker: Any, topic: str, dev: Dev, tmp_path: Path
) -> None:
    file, out = tmp_path / "app.py", f"{topic}-out"
    text = file.read_text()
    assert dev.says(f"{out}: ").endswith('{"symbol":"A","price":2,"value":20}')

    send.send(broker.connection, topic, send.rows([{"symbol": "B", "price": 3}]))
    assert dev.says(f"{out}: ").endswith('"value":30}')

    saved = time.monotonic()
    file.write_text(text.replace("price > 1", "price > 2"))
    dev.says("saved: restarting")
    assert dev.says(f"{out}: ").endswith('{"symbol":"B","price":3,"value":30}')
    print(f"from the save to the result: {time.monotonic() - saved:.1f} s")

    (tmp_path / "rates.py").write_text("RATE = 20\n")
    assert dev.says(f"{out}: ").endswith('"value":60}')

    (tmp_path / "rates.py").write_text("RATE = (\n")
    dev.says("error:")
    assert "rates.py:1" in dev.says("  at ")
    (tmp_path / "rates.py").write_text("RATE = 30\n")
    assert dev.says(f"{out}: ").endswith('"value":90}')

    file.write_text(text.replace('"price > 1"', '"prize > 1"'))
    dev.says("no column 'prize'")
    assert "app.py:7" in dev.says("  at ")

    # The state of the first program would not fit this one's.
    file.write_text(text.replace('key_by("symbol")', 'key_by("price")').replace("sum(price)", "max(symbol)"))
    dev.says('"total":"B"')

    dev.process.send_signal(signal.SIGINT)
    assert dev.process.wait(60) == 0, dev.said
    assert "Traceback" not in dev.said
    assert not topics.exists(broker.connection, out)
    assert not (tmp_path / "file.db").exists()
    assert not (tmp_path / ".headrace" / "state").exists()
