"""Destinations that go back while the checkpoint goes on: an older copy put in their place, a broker that lost its page cache.

Each must end in the error that names it, with nothing written; and the command that the error names must lead to right results.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from faults.rig import APP, COPIES, DATABASE, HEADRACE, ROOT, SUMS, Rig, rig, strike
from faults.strikes import QUERIES, Report, Say, in_database
from headrace.broker import embedded
from tests.sinks.servers import Postgres, postgres

PLACES = ("sqlite", "postgres", "broker")


def restored(seed: int, say: Say, *, places: tuple[str, ...] = PLACES, code: Path = ROOT) -> Report:
    """A destination is put back to an earlier copy, as from yesterday's backup."""
    report = Report("SQLite, PostgreSQL, the broker restored from an older copy")
    for place in places:
        with ExitStack() as stack:
            at = stack.enter_context(rig(seed, app=APP if place == "broker" else DATABASE, code=code))
            server = stack.enter_context(postgres()) if place == "postgres" else None
            file = at.folder / "results.db"
            at.env["FAULTS_DATABASE"] = server.url if server else str(file)
            at.feed(2000)
            at.finish()
            _go_back(at, place, file, server, lambda at=at: _more(at))
            report.struck += 1
            _refused(at, report, place, "it was restored from an older copy or lost writes")
            say(f"{place}: refused by name, then reset")
            if server:
                report.violations += in_database(at, server.rows)
            elif place == "sqlite":
                with closing(sqlite3.connect(file)) as results:
                    results.row_factory = sqlite3.Row
                    report.violations += in_database(at, lambda sql, r=results: r.execute(sql).fetchall())
            else:
                report.violations += at.violations()
            report.rows += at.fed
    return report


def _more(at: Rig) -> None:
    for _ in range(2):
        at.feed(1500)
        at.finish()


def _go_back(at: Rig, place: str, file: Path, server: Postgres | None, meanwhile: Callable[[], None]) -> None:
    copy = at.folder / "copy"
    if place == "sqlite":
        shutil.copy(file, copy)
        meanwhile()
        shutil.copy(copy, file)
    elif server:
        data = server.server.pgdata
        server.crash()
        _copied(data, copy)
        server.start()
        meanwhile()
        server.crash()
        _put(copy, data)
        server.start()
    else:
        before = at.fed
        embedded.down(at.config, say=lambda text: None)
        _copied(_data(at), copy)
        embedded.up(at.config, say=lambda text: None)
        meanwhile()
        embedded.down(at.config, say=lambda text: None)
        _put(copy, _data(at))
        embedded.up(at.config, say=lambda text: None)
        # Those who sent the events send what the broker lost again.
        at.feed_again(before)


def page_cache(seed: int, say: Say, *, code: Path = ROOT) -> Report:
    """The machine loses its power: a broker's logs end where they were on the disk, each for itself."""
    report = Report("the broker's page cache lost")
    lost = {"results": (COPIES, SUMS), "results and marks": (COPIES, SUMS, "headrace.faults.marks")}
    for what, topics in lost.items():
        with rig(seed, code=code) as at:
            at.feed(2000)
            at.finish()
            copy = _copied(_data(at), at.folder / "copy")
            _more(at)
            pid = embedded.status(at.config).pid
            assert pid is not None
            strike(pid)
            for log in _data(at).iterdir():
                if log.name.rpartition("-")[0] in topics:
                    _put(copy / log.name, log)
            embedded.up(at.config, say=lambda text: None)
            report.struck += 1
            _refused(at, report, what, "was confirmed there")
            say(f"{what} lost: refused by name, then reset")
            report.violations += at.violations()
            report.rows += at.fed
    return report


def _refused(at: Rig, report: Report, what: str, text: str) -> None:
    """Every query says it, also when there is nothing to do; then each starts over."""
    for query in QUERIES:
        run = at.start(until=True)
        if run.wait() == 0:
            report.violations.append(f"{what}: not noticed:\n{run.said()[-600:]}")
            return
        if text not in run.said() or "headrace reset" not in run.said():
            report.violations.append(f"{what}: not refused by name:\n{run.said()[-600:]}")
        named = next(one for one in QUERIES if f"query '{one}'" in run.said())
        done = subprocess.run(
            [
                *HEADRACE,
                "reset",
                str(at.app),
                named,
                "--output",
                "delete",
                "--yes",
                "--broker",
                at.address,
                "--state",
                at.state,
            ],
            cwd=at.folder,
            env=at.environment(),
            capture_output=True,
            text=True,
        )
        if done.returncode:
            report.violations.append(f"{what}: reset of {query}: {done.stderr[-600:]}")
    at.finish()


def _data(at: Rig) -> Path:
    return embedded.folder(at.config) / "data"


def _copied(place: Path, to: Path) -> Path:
    # With its owner: PostgreSQL looks.
    subprocess.run(["cp", "-a", str(place), str(to)], check=True)
    return to


def _put(copy: Path, place: Path) -> None:
    shutil.rmtree(place)
    if copy.exists():
        _copied(copy, place)
