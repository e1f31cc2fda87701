"""Shows progress: a live table on a terminal, plain lines elsewhere, JSON lines for programs."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table

from headrace.printable import LINES, printable
from headrace.runtime.events import BatchDone, Event, Failed, Note, Restarting, Started, Stopped
from headrace.runtime.progress import Batch, Total

_EVERY = 5.0


class Display(ABC):
    """A listener that shows what happens."""

    shows_failure = False
    """Otherwise whoever waits for the run gets the error, and shows it."""

    def __call__(self, event: Event) -> None:
        match event:
            case Started():
                count = len(event.queries)
                self.say(f"{event.app}: {count} {'query' if count == 1 else 'queries'}, broker {event.broker}")
            case BatchDone():
                self.batch(event.batch, event.total)
            case Restarting():
                self.say(f"{event.cause}\n  restarting in {event.wait:g} s (try {event.attempt} of {event.attempts})")
            case Failed():
                if self.shows_failure:
                    self.say(f"{event.app} failed: {event.error}")
            case Note():
                self.say(event.text)
            case Stopped():
                if event.asked:
                    self.say(f"{event.app} stopped{' before it had read all' if event.unfinished else ''}")

    @abstractmethod
    def say(self, text: str) -> None: ...

    @abstractmethod
    def batch(self, batch: Batch, total: Total) -> None: ...

    @abstractmethod
    def close(self) -> None: ...


class LiveDisplay(Display):
    """One line a query, redrawn in place."""

    def __init__(self, app: str) -> None:
        self._app = app
        self._rows: dict[str, tuple[Batch, Total]] = {}
        self._console = Console(stderr=True)
        self._live = Live(console=self._console, refresh_per_second=4, transient=False)
        self._live.start()

    def say(self, text: str) -> None:
        self._console.print(printable(text, keep=LINES), markup=False, highlight=False)

    def batch(self, batch: Batch, total: Total) -> None:
        self._rows[batch.query] = (batch, total)
        table = Table(title=self._app, title_justify="left", box=None, padding=(0, 2, 0, 0))
        for column in (
            "query",
            "in/s",
            "out/s",
            "lag",
            "watermark",
            "state rows",
            "batch ms",
            "in",
            "out",
            "filtered",
            "late",
            "bad",
            "stale",
            "duplicates",
        ):
            table.add_column(column, justify="left" if column in ("query", "watermark") else "right", no_wrap=True)
        for last, all in self._rows.values():
            table.add_row(
                last.query,
                _rate(last.in_per_second),
                _rate(last.out_per_second),
                f"{last.lag:,}",
                _clock(last),
                f"{last.state_rows:,}",
                f"{last.millis:,}",
                f"{all.rows_in:,}",
                f"{all.rows_out:,}",
                f"{all.filtered:,}",
                f"{all.late:,}",
                f"{all.bad:,}",
                f"{all.stale:,}",
                f"{all.duplicates:,}",
            )
        self._live.update(table)

    def close(self) -> None:
        self._live.stop()


class LineDisplay(Display):
    """A line a query every few seconds, and one for its first batch."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._last: dict[str, float] = {}
        self._unshown: dict[str, tuple[Batch, Total]] = {}

    def say(self, text: str) -> None:
        print(printable(text, keep=LINES), file=self._out, flush=True)

    def batch(self, batch: Batch, total: Total) -> None:
        now = time.monotonic()
        if now - self._last.get(batch.query, -_EVERY) < _EVERY:
            self._unshown[batch.query] = (batch, total)
            return
        self._last[batch.query] = now
        self._unshown.pop(batch.query, None)
        self.say(_line(batch, total))

    def close(self) -> None:
        for batch, total in self._unshown.values():
            self.say(_line(batch, total))
        self._unshown.clear()


class Background(LineDisplay):
    """For a run that nobody may be waiting for. Several of them share a terminal, so nothing is redrawn in place."""

    shows_failure = True


class JsonDisplay(Display):
    """Every batch as one JSON object on stdout; words go to stderr."""

    def say(self, text: str) -> None:
        print(printable(text, keep=LINES), file=sys.stderr, flush=True)

    def batch(self, batch: Batch, total: Total) -> None:
        print(batch.json(), flush=True)

    def close(self) -> None: ...


class Silent(Display):
    """Says nothing; for programs that call app.run() and look at what it returns."""

    def say(self, text: str) -> None: ...
    def batch(self, batch: Batch, total: Total) -> None: ...
    def close(self) -> None: ...


def choose(app: str, *, json: bool = False) -> Display:
    if json:
        return JsonDisplay()
    return LiveDisplay(app) if sys.stderr.isatty() else LineDisplay()


def _line(batch: Batch, total: Total) -> str:
    parts = [
        f"{batch.query}: batch {batch.batch}",
        f"in {_rate(batch.in_per_second)}/s ({total.rows_in:,})",
        f"out {_rate(batch.out_per_second)}/s ({total.rows_out:,})",
        f"lag {batch.lag:,}",
        f"watermark {_clock(batch)}",
        f"state {batch.state_rows:,} rows",
        f"{batch.millis:,} ms",
    ]
    return "  ".join([*parts, *(f"{what} {count:,}" for what, count in total.left_out.items())])


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}"


def _clock(batch: Batch) -> str:
    """The watermark and, of several topics, the one that holds it back and how far the others are."""
    time = "-" if batch.watermark is None else batch.watermark.replace("T", " ").removesuffix("Z").removesuffix(".000")
    if batch.held_by is None:
        return time
    slowest = batch.newest.get(batch.held_by)
    ahead = [
        topic if slowest is None else f"{topic} {(newest - slowest) / 1e6:,.0f} s"
        for topic, newest in batch.newest.items()
        if topic != batch.held_by
    ]
    return f"{time} (by {batch.held_by}{'; ahead: ' + ', '.join(ahead) if ahead else ''})"
