"""The stock example on generated trades, on a real Kafka and a real Spark: watch the results, then see them checked.

make demo                  about a minute; on a terminal, Enter lets it run on until Ctrl-C
make demo SECONDS=20       shorter or longer
"""

from __future__ import annotations

import io
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from headrace.broker import connect, embedded, topics
from headrace.broker.client import Connection
from headrace.config import Config

APP = Path(__file__).parent / "stock_statistics.py"
SYMBOLS = ("AAPL", "AMZN", "GOOG", "META", "MSFT", "NFLX", "NVDA", "TSLA")
PER_SECOND = 400
WINDOW = 5
Place = tuple[str, int]


class Trades(threading.Thread):
    """Produces trades, out of order by up to a second, and counts them per symbol and window: the truth to compare with."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(daemon=True)
        self._producer = connection.producer(linger_ms=20)
        self._ended = threading.Event()
        self.counts: Counter[Place] = Counter()

    def run(self) -> None:
        prices = {symbol: random.uniform(50, 500) for symbol in SYMBOLS}
        began, sent = time.monotonic(), 0
        while not self._ended.wait(0.05):
            due = int((time.monotonic() - began) * PER_SECOND)
            for _ in range(due - sent):
                self._send(prices)
            sent = due
        self._producer.flush()

    def _send(self, prices: dict[str, float]) -> None:
        symbol = random.choice(SYMBOLS)
        prices[symbol] *= random.uniform(0.999, 1.001)
        at = datetime.now(UTC) - timedelta(seconds=random.random())
        trade = {"symbol": symbol, "price": round(prices[symbol], 2), "qty": random.randint(1, 500), "at": at.isoformat()}
        self._producer.produce("trades", key=symbol, value=json.dumps(trade))
        self._producer.poll(0)
        self.counts[symbol, int(at.timestamp()) // WINDOW * WINDOW] += 1

    def end(self) -> None:
        self._ended.set()
        self.join()


class Results(threading.Thread):
    """Reads what the application writes: the newest row of each symbol and window."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(daemon=True)
        self._consumer = connection.consumer(group_id="demo", auto_offset_reset="earliest")
        self._consumer.subscribe(["trade-statistics"])
        self.rows: dict[Place, dict[str, Any]] = {}

    def run(self) -> None:
        while True:
            record = self._consumer.poll(0.2)
            if record is None or record.error():
                continue
            row = json.loads(record.value() or b"{}")
            start = int(datetime.fromisoformat(row["window_start"]).timestamp())
            self.rows[row["symbol"], start] = row

    def count(self) -> int:
        return sum(row["trades"] for row in list(self.rows.values()))


class Progress(threading.Thread):
    """The application's own report: one JSON object a batch."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        super().__init__(daemon=True)
        self._process = process
        self.last: dict[str, Any] = {}

    def run(self) -> None:
        for line in self._process.stdout or ():
            self.last = json.loads(line)


def main() -> int:
    seconds = float(os.environ.get("SECONDS_TO_RUN") or 60)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    console = Console()
    folder = Path(tempfile.mkdtemp(prefix="headrace-demo-"))
    config = Config.load({"broker": "embedded"}, cwd=folder)
    try:
        connection = connect.connect(config, say=console.print)
        for topic in ("trades", "trade-statistics"):
            topics.ensure(connection, topic)
        return watch(console, connection, folder, seconds)
    except KeyboardInterrupt:
        return 130
    finally:
        embedded.down(config, say=lambda text: None)
        shutil.rmtree(folder, ignore_errors=True)


def watch(console: Console, connection: Connection, folder: Path, seconds: float) -> int:
    console.print(f"headrace run {APP.relative_to(Path.cwd())} --broker {connection.address}", style="bold")
    command = [sys.executable, "-m", "headrace", "run", str(APP), "--broker", connection.address, "--json"]
    # Its own session: Ctrl-C is for the demo, which then stops the application cleanly.
    log = (folder / "run.log").open("w+")
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
    trades, results, progress = Trades(connection), Results(connection), Progress(process)
    for thread in (trades, results, progress):
        thread.start()
    try:
        live = Live(console=console, auto_refresh=False, transient=False) if console.is_terminal else None
        with live or console:
            run(trades, results, progress, process, seconds, live, console)
        trades.end()
        settle(trades, results, process, console)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    if process.returncode != 0:
        log.seek(0)
        console.print(log.read(), markup=False)
    return summary(trades, results, process.returncode, console)


def run(
    trades: Trades,
    results: Results,
    progress: Progress,
    process: subprocess.Popen[str],
    seconds: float,
    live: Live | None,
    console: Console,
) -> None:
    end: float | None = None
    lines = time.monotonic()
    asked = sys.stdin.isatty()
    try:
        while process.poll() is None and (end is None or time.monotonic() < end):
            # The minute begins with the first result: what comes before it is Spark's start.
            if end is None and results.rows:
                end = time.monotonic() + seconds
            if live is not None:
                live.update(picture(trades, results, progress, end), refresh=True)
                # At the end of its input a terminal is readable for ever, and says nothing.
                if not asked:
                    time.sleep(0.5)
                elif select.select([sys.stdin], [], [], 0.5)[0]:
                    asked = bool(sys.stdin.readline())
                    end = float("inf") if asked else end
            else:
                time.sleep(0.5)
                if time.monotonic() - lines > 5 and results.rows:
                    lines = time.monotonic()
                    console.print(picture(trades, results, progress, end))
    except KeyboardInterrupt:
        console.print("stopping ...")


def picture(trades: Trades, results: Results, progress: Progress, end: float | None) -> Group:
    table = Table(title="trade-statistics: the newest windows", title_justify="left")
    for column in ("symbol", "window", "low", "high", "mean", "trades"):
        table.add_column(column, justify="left" if column in ("symbol", "window") else "right")
    rows = dict(results.rows)
    newest = max((start for _, start in rows), default=0)
    for (symbol, start), row in sorted(rows.items()):
        if start == newest:
            window = datetime.fromtimestamp(start, UTC).strftime("%H:%M:%S") + f" + {WINDOW} s"
            table.add_row(symbol, window, f"{row['low']:.2f}", f"{row['high']:.2f}", f"{row['mean']:.2f}", str(row["trades"]))
    last = progress.last
    state = (
        f"batch {last['batch']}, lag {last['lag']:,}, {last['millis']} ms a batch"
        if last
        else "the first batch ..."
        if rows
        else "starting Spark ..."
    )
    left = (
        "" if end is None else " · until Ctrl-C" if end == float("inf") else f" · {max(end - time.monotonic(), 0):.0f} s left"
    )
    hint = " (Enter: run on)" if sys.stdin.isatty() and end not in (None, float("inf")) else ""
    return Group(table, Text(f"{sum(trades.counts.values()):,} produced, {results.count():,} counted · {state}{left}{hint}"))


def settle(trades: Trades, results: Results, process: subprocess.Popen[str], console: Console) -> None:
    """Nothing is produced any more: wait until the application has counted it all."""
    produced, patience = sum(trades.counts.values()), time.monotonic() + 60
    while results.count() < produced and process.poll() is None and time.monotonic() < patience:
        time.sleep(0.1)


def summary(trades: Trades, results: Results, code: int, console: Console) -> int:
    found = {place: row["trades"] for place, row in results.rows.items()}
    wrong = {place: (n, found.get(place)) for place, n in trades.counts.items() if found.get(place) != n}
    wrong |= {place: (0, n) for place, n in found.items() if place not in trades.counts}
    table = Table(title="summary", title_justify="left")
    for column in ("symbol", "windows", "produced", "counted"):
        table.add_column(column, justify="left" if column == "symbol" else "right")
    for symbol in SYMBOLS:
        mine = [place for place in trades.counts if place[0] == symbol]
        table.add_row(
            symbol,
            str(len(mine)),
            f"{sum(trades.counts[place] for place in mine):,}",
            f"{sum(n for place, n in found.items() if place[0] == symbol):,}",
        )
    console.print(table)
    if wrong or code != 0 or not found:
        console.print(
            f"WRONG: {len(wrong)} windows differ (produced, counted): {dict(list(wrong.items())[:5])}; exit code {code}"
        )
        return 1
    console.print(f"right: all {sum(found.values()):,} trades are counted, in {len(found):,} windows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
