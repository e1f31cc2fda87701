"""The faults. Each strikes a rig, brings the application to its end, and leaves the verdict to the oracle."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from faults.oracle import violations
from faults.rig import APP, DATABASE, HEADRACE, LARGE, ROOT, Along, Rig, Run, Void, rig, strike, wait_for
from headrace.broker import embedded
from tests.effects import kills as effect_kills
from tests.sinks.servers import Postgres, postgres

POINTS = ("PLANNED", "FIRST_ROW", "ROWS_SENT", "MARK_SENT", "FLUSHED", "ANSWERED", "COMMITTED")
DATABASE_POINTS = ("PLANNED", "ROWS_SENT", "MARK_SENT", "ANSWERED", "COMMITTED")
TARGETS = ("driver", "python", "worker", "broker")
QUERIES = ("copies", "sums")
Say = Callable[[str], None]


@dataclass
class Report:
    """What became of one kind of fault."""

    fault: str
    struck: int = 0
    void: int = 0
    rows: int = 0
    recoveries: list[float] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)

    @property
    def p95(self) -> float | None:
        if not self.recoveries:
            return None
        return sorted(self.recoveries)[min(int(len(self.recoveries) * 0.95), len(self.recoveries) - 1)]


def surgeries(seed: int, count: int, say: Say, *, code: Path = ROOT) -> Report:
    """The newest note of a finished batch is cut out of the checkpoint: it died after the sink, before the commit."""
    report, chance = Report("checkpoint surgery"), random.Random(seed)
    with rig(seed, code=code) as at:
        # Many in one process, because starting one takes longer than all the rest.
        for share in [25] * (count // 25) + [count % 25]:
            report.struck += _operate(at, [(chance.randint(200, 1500), _some(chance)) for _ in range(share)])
            say(f"{report.struck} of {count} surgeries")
        report.void = count - report.struck
        report.rows = at.fed
        report.violations = at.violations()
    return report


def _some(chance: random.Random) -> list[str]:
    return [query for query in QUERIES if chance.random() < 0.8] or list(QUERIES)


def _operate(at: Rig, plan: list[tuple[int, list[str]]]) -> int:
    """In a process that runs the application again and again; it is told what to cut on stdin and says when it is done."""
    command = [sys.executable, "-m", "faults.again", at.address, str(at.state)]
    struck, log = 0, at.folder / "again.log"
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with log.open("a") as err, subprocess.Popen(command, cwd=at.folder, env=at.environment(), stderr=err, **pipes) as process:

        def run() -> None:
            process.stdin.write("run\n")
            process.stdin.flush()
            answer = process.stdout.readline().strip()
            if answer != "done":
                raise RuntimeError(f"the application stopped: {answer or log.read_text()[-3000:]}")

        for rows, queries in plan:
            at.feed(rows)
            run()
            struck += [cut(at.state / "faults" / query) for query in queries].count(True) > 0
        run()
        process.stdin.close()
    return struck


def cut(checkpoint: Path) -> bool:
    """Whether there was a finished batch to cut out."""
    commits = sorted((checkpoint / "commits").glob("[0-9]*"), key=lambda file: int(file.name))
    if not commits or commits[-1].name != max((checkpoint / "offsets").glob("[0-9]*"), key=lambda f: int(f.name)).name:
        return False
    commits[-1].unlink()
    commits[-1].with_name(f".{commits[-1].name}.crc").unlink(missing_ok=True)
    return True


def crash_points(seed: int, say: Say, *, points: tuple[str, ...] = POINTS, code: Path = ROOT) -> Report:
    """The driver ends at a moment chosen in the sink; the next run must find out what was written."""
    report = Report("crash at a point of the sink, topics")
    with rig(seed, code=code) as at:
        _crash(at, points, report, say)
        report.violations = at.violations()
    return report


def database_points(seed: int, say: Say) -> Report:
    """The same of what is written to PostgreSQL."""
    report = Report("crash at a point of the sink, PostgreSQL")
    with postgres() as server, rig(seed, app=DATABASE, env={"FAULTS_DATABASE": server.url}) as at:
        _crash(at, DATABASE_POINTS, report, say)
        report.violations = in_database(at, server.rows)
    return report


def sqlite_points(seed: int, say: Say) -> Report:
    """And to SQLite."""
    report = Report("crash at a point of the sink, SQLite")
    with rig(seed, app=DATABASE) as at:
        file = at.folder / "results.db"
        at.env["FAULTS_DATABASE"] = str(file)
        _crash(at, DATABASE_POINTS, report, say)
        with closing(sqlite3.connect(file)) as results:
            results.row_factory = sqlite3.Row
            report.violations = in_database(at, lambda sql: results.execute(sql).fetchall())
    return report


def _crash(at: Rig, points: tuple[str, ...], report: Report, say: Say) -> None:
    chance = random.Random(at.seed)
    at.feed(1000)
    at.finish()
    for point in points:
        at.feed(6000)
        batch = _last(at) + chance.randint(1, 2)
        if at.start(until=True, point=f"crash={point}:{batch}").wait() == 0:
            report.void += 1
            continue
        report.struck += 1
        began = time.monotonic()
        at.finish()
        report.recoveries.append(time.monotonic() - began)
        say(f"{point} in batch {batch}: went on after {report.recoveries[-1]:.1f} s")
    report.rows = at.fed


def _last(at: Rig) -> int:
    """The newest batch of the query that is further."""
    return max(int(file.name) for query in QUERIES for file in (at.state / "faults" / query / "commits").glob("[0-9]*"))


def lost_answers(seed: int, say: Say, *, code: Path = ROOT) -> Report:
    """A commit is done and nobody says so: the sink must ask, not send again."""
    report = Report("the answer to a commit is lost")
    with rig(seed, code=code) as at:
        at.feed(1000)
        at.finish()
        at.feed(6000)
        run = at.start(until=True, point=f"lose=ANSWERED:{_last(at) + 1}")
        code_of_run = run.wait()
        report.struck += "no answer came" in run.said()
        report.void += "no answer came" not in run.said()
        if code_of_run != 0:
            at.finish()
        report.rows = at.fed
        report.violations = at.violations()
    return report


def kills(seed: int, count: int, rows: int, say: Say, *, targets: tuple[str, ...] = TARGETS, code: Path = ROOT) -> Report:
    """kill -9 at random moments while there is work, and a reader that reads along."""
    report, chance = Report("kill -9 of " + ", ".join(targets)), random.Random(seed)
    share = max(rows // count, 1000)
    with rig(seed, code=code, batch=max(share // 6, 500)) as at:
        at.feed(1000)
        at.finish()
        along = Along(at)
        run = at.start()
        tries = 0
        while report.struck < count and tries < 3 * count:
            tries += 1
            target = targets[report.struck % len(targets)]
            try:
                run, seconds = _kill(at, run, target, share, chance)
            except Void as e:
                report.void += 1
                say(f"void: {str(e).splitlines()[0]}")
                if run.process.poll() is not None:
                    run = at.start()
                continue
            report.struck += 1
            report.recoveries.append(seconds)
            say(f"{report.struck} of {count}: {target}, all there after {seconds:.1f} s")
        run.stop()
        at.finish()
        found = at.found()
        wait_for(lambda: len(along.seen) >= len(found.copies), "the reader along")
        seen = along.close()
        report.rows = at.fed
        report.violations = at.violations()
        report.violations += [
            f"the reader along saw copy {id} {n} times" for id, n in Counter(i for _, i, _ in seen).items() if n > 1
        ]
        if len(seen) != len(found.copies):
            report.violations.append(f"the reader along saw {len(seen)} copies of {len(found.copies)}")
    return report


def _kill(at: Rig, run: Run, target: str, share: int, chance: random.Random) -> tuple[Run, float]:
    """Strikes while the application is behind; gives the run that goes on and how long it took until all was there."""
    at.feed(share)
    wanted = len(at.truth.copies)
    before = wanted - sum(1 for i in at.truth.copies if i >= at.fed - share)
    # Somewhere in the work: some of it is there, not all.
    reach = before + int((wanted - before) * chance.uniform(0.0, 0.7))
    wait_for(lambda: run.process.poll() is not None or at.count() > reach, "progress")
    if at.count() >= wanted:
        raise Void("all was done before it was struck")
    if target == "broker":
        pid = embedded.status(at.config).pid
        assert pid is not None
        strike(pid)
    else:
        strike(run.find(target))
    began = time.monotonic()
    if target == "broker":
        embedded.up(at.config, say=lambda text: None)
    elif target != "worker":
        run.kill() if target == "python" and chance.random() < 0.5 else run.process.wait(60)
        run = at.start()
    while at.count() < wanted:
        if run.process.poll() is not None:
            # It may give up on a broker that is gone for long; it goes on where it was.
            run = at.start()
        if time.monotonic() - began > 300:
            raise RuntimeError(f"not all is there 300 s after {target} was struck:\n{run.said()[-3000:]}")
        time.sleep(0.1)
    return run, time.monotonic() - began


def bad_records(seed: int, say: Say, *, rows: int = 100_000) -> Report:
    """Records that nobody can read and rows that are too large, among good ones; and a kill in the middle of it."""
    report = Report("poison and oversized records, and kill -9")
    with rig(seed, app=LARGE, batch=rows // 8, oversized=1 / 5000) as at:
        at.feed(rows)
        run = at.start()
        wait_for(lambda: at.count() > 0, "progress")
        strike(run.find("driver"))
        run.process.wait(60)
        at.finish()
        report.struck = len(at.truth.poison) + len(at.truth.oversized)
        report.rows = at.fed
        report.violations = at.violations()
    return report


def database(seed: int, count: int, say: Say) -> Report:
    """kill -9 of PostgreSQL, all its processes at once, while rows go there."""
    report, chance = Report("kill -9 of PostgreSQL"), random.Random(seed)
    with postgres() as server, rig(seed, app=DATABASE, env={"FAULTS_DATABASE": server.url}) as at:
        at.feed(1000)
        at.finish()
        run = at.start()
        while report.struck < count and report.void < count:
            at.feed(8000)
            wanted = len(at.truth.copies)
            reach = wanted - chance.randint(1000, 6000)
            wait_for(lambda reach=reach: _rows(server) > reach, "progress")
            if _rows(server) >= wanted:
                report.void += 1
                continue
            server.kill()
            began = time.monotonic()
            server.start()
            wait_for(lambda wanted=wanted: _rows(server) >= wanted, "all copies")
            report.struck += 1
            report.recoveries.append(time.monotonic() - began)
            say(f"{report.struck} of {count}: all there after {report.recoveries[-1]:.1f} s")
        run.stop()
        at.finish()
        report.rows = at.fed
        report.violations = in_database(at, server.rows)
    return report


def in_database(at: Rig, rows: Callable[[str], list[Any]]) -> list[str]:
    copies = [(row["key"], row["id"], row["twice"]) for row in rows("SELECT * FROM copies ORDER BY id")]
    sums = {row["key"]: (row["n"], row["total"]) for row in rows("SELECT * FROM sums")}
    return violations(at.truth, replace(at.found(), copies=copies, sums=sums))


def _rows(server: Postgres) -> int:
    return server.rows("SELECT count(*) AS n FROM copies")[0]["n"]


def effects(seed: int, alerts: int, count: int, say: Say) -> Report:
    """kill -9 of the sender while alerts are due: the logs of the receivers are the truth."""
    report = Report("kill -9 while e-mails and webhooks are due")
    for kind, policy in effect_kills.CASES:
        with tempfile.TemporaryDirectory(prefix="headrace-faults-") as folder:
            verdict = effect_kills.run(kind, policy, Path(folder), alerts=alerts, kills=count, seed=seed)
        report.struck += verdict.kills
        report.rows += alerts
        report.violations += verdict.wrong
        say(str(verdict))
    return report


def zombie(seed: int, say: Say, *, code: Path = ROOT) -> Report:
    """The run freezes in the middle of a batch, another one takes over, and the first one wakes up again."""
    report = Report("a frozen run wakes up after another took over")
    with rig(seed, code=code, batch=20_000) as at:
        at.feed(1000)
        at.finish()
        first = at.start()
        _freeze(at, first, "driver", "python")
        # As on another machine, which does not see the lock.
        (at.state / "faults" / "lock").unlink()
        at.finish()
        report.struck += 1
        _wake(first, "driver", "python")
        at.feed(2000)
        wait_for(lambda: first.process.poll() is not None or at.count() >= len(at.truth.copies), "what the first run does now")
        first.stop()
        at.finish()
        report.rows = at.fed
        report.violations = at.violations()
    return report


def frozen(seed: int, say: Say, *, code: Path = ROOT) -> Report:
    """The driver stops for longer than its transactions may last, and goes on as if nothing had been."""
    report = Report("SIGSTOP longer than the transaction's timeout")
    with rig(seed, code=code, batch=20_000, env={"HEADRACE_TRANSACTION_TIMEOUT": "3 seconds"}) as at:
        at.feed(1000)
        at.finish()
        run = at.start()
        _freeze(at, run, "driver")
        wait_for(lambda: not at.open(), "the broker to end the transactions of a run that says nothing")
        _wake(run, "driver")
        report.struck += 1
        began = time.monotonic()
        wait_for(lambda: run.process.poll() is not None or at.count() >= len(at.truth.copies), "all copies")
        report.recoveries.append(time.monotonic() - began)
        run.stop()
        at.finish()
        report.rows = at.fed
        report.violations = at.violations()
    return report


def _freeze(at: Rig, run: Run, *parts: str) -> None:
    """In the middle of a transaction."""
    at.feed(200_000)
    while True:
        wait_for(lambda: at.open() or at.count() >= len(at.truth.copies), "a transaction")
        for part in parts:
            strike(run.find(part), signal.SIGSTOP)
        if at.open():
            return
        if at.count() >= len(at.truth.copies):
            raise Void("all was done before it was struck")
        _wake(run, *parts)


def _wake(run: Run, *parts: str) -> None:
    for part in parts:
        strike(run.find(part), signal.SIGCONT)


def refusals(seed: int, say: Say, *, code: Path = ROOT) -> Report:
    """Checkpoints deleted, copied back, swapped: each must stop with the error that names it, and write nothing."""
    report = Report("checkpoint deleted, copied back, swapped")
    with rig(seed, code=code) as at:
        place = at.state / "faults" / "copies"
        at.feed(1000)
        at.finish()
        old = _copy(place, at.folder / "old")
        for _ in range(3):
            at.feed(500)
            at.finish()
        new = _copy(place, at.folder / "new")

        def refused(what: str, text: str) -> None:
            run = at.start(until=True)
            report.struck += 1
            if run.wait() == 0 or text not in run.said() or "headrace repair" not in run.said():
                report.violations.append(f"{what}: not refused, or not by name:\n{run.said()[-600:]}")

        shutil.rmtree(place)
        refused("deleted", "of another checkpoint")
        _put(old, place)
        at.feed(500)
        refused("copied back", "older copy")
        # Another checkpoint of the same query, which is further than what the topics have.
        shutil.rmtree(place)
        again = subprocess.run(
            [*HEADRACE, "repair", str(APP), "copies", "--broker", at.address, "--state", str(at.state)],
            cwd=at.folder,
            env=at.environment(),
            capture_output=True,
            text=True,
        )
        if again.returncode:
            report.violations.append(f"repair: {again.stderr[-600:]}")
        at.batch = 1_000_000
        at.finish()
        _put(new, place)
        at.feed(500)
        refused("swapped", "of another checkpoint")
        report.rows = at.fed
    say(f"{report.struck} refusals")
    return report


def _copy(place: Path, to: Path) -> Path:
    shutil.copytree(place, to)
    return to


def _put(copy: Path, place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(copy, place)


def corruption(seed: int, count: int, say: Say, *, code: Path = ROOT) -> Report:
    """Bytes of checkpoint files are changed: an error that says so, or right results; never wrong ones."""
    report, chance = Report("corrupted checkpoint files"), random.Random(seed)
    with rig(seed, code=code) as at:
        for _ in range(2):
            at.feed(800)
            at.finish()
        for _ in range(count):
            query = at.state / "faults" / chance.choice(QUERIES)
            good = _copy(query, at.folder / f"good-{report.struck}")
            what = _spoil(query, chance)
            # With something to do, or the checkpoint would hardly be read.
            at.feed(800)
            run = at.start(until=True)
            ended, said = run.wait(), run.said()
            report.struck += 1
            if "Traceback" in said or (ended and "fix:" not in said):
                report.violations.append(f"{what}: no readable error:\n{said[-600:]}")
            if ended:
                # The files of before the fault are the copy that the error asks for.
                _put(good, query)
                at.finish()
            report.violations += [f"{what}: {wrong}" for wrong in at.violations()]
            say(f"{what}: {'refused' if ended else 'right'}")
        report.rows = at.fed
    return report


def _spoil(checkpoint: Path, chance: random.Random) -> str:
    """One of the newest files, because those are read."""
    files = [file for file in checkpoint.rglob("*") if file.is_file() and file.suffix != ".crc" and file.stat().st_size]
    file = chance.choice(sorted(files, key=lambda file: -file.stat().st_mtime_ns)[:8])
    data = bytearray(file.read_bytes())
    how = chance.choice(("flip", "truncate", "zero"))
    if how == "flip":
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif how == "truncate":
        data = data[: chance.randrange(len(data))]
    else:
        data = bytearray(len(data))
    file.write_bytes(data)
    return f"{how} of {file.relative_to(checkpoint.parent)}"


def full_disk(seed: int, say: Say, *, code: Path = ROOT) -> Report:
    """The disk with the checkpoints is full for a while."""
    report = Report("a full disk")
    with rig(seed, code=code) as at, _small_disk(at.folder) as disk:
        if disk is None:
            report.void += 1
            say("a small file system can't be mounted here")
            return report
        at.state = disk / "state"
        at.feed(1000)
        at.finish()
        filler = disk / "filler"
        with filler.open("wb") as file:
            try:
                while True:
                    file.write(bytes(1 << 16))
                    file.flush()
            except OSError:
                pass
        at.feed(3000)
        run = at.start(until=True)
        said = run.said() if run.wait() else ""
        report.struck += 1
        if "fix:" not in said or "Traceback" in said:
            report.violations.append(f"no readable error on a full disk:\n{said[-800:]}")
        filler.unlink()
        began = time.monotonic()
        at.finish()
        report.recoveries.append(time.monotonic() - began)
        report.rows = at.fed
        report.violations += at.violations()
    return report


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path | None]:
    image, place = folder / "disk.img", folder / "disk"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(24 << 20)
    made = (
        subprocess.run(["mkfs.ext4", "-q", str(image)], capture_output=True).returncode == 0
        if shutil.which("mkfs.ext4")
        else False
    )
    if not made or subprocess.run(["mount", "-o", "loop", str(image), str(place)], capture_output=True).returncode:
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], capture_output=True)


def two_runs(seed: int, say: Say, *, code: Path = ROOT) -> Report:
    """A second run while the first one works is refused and names the first, in whatever form it names their state."""
    report = Report("two runs at once, by path and by URL")
    with rig(seed, code=code) as at:
        at.feed(1000)
        first = at.start()
        wait_for(lambda: at.count() > 0, "the first run")
        for state in (str(at.state), f"file://{at.state}", f"file:{at.state}"):
            second = at.start(until=True, state=state)
            report.struck += 1
            if second.wait() == 0 or f"as process {first.process.pid}" not in second.said():
                report.violations.append(f"the second run over {state} was not refused:\n{second.said()[-600:]}")
        first.stop()
        at.feed(1000)
        at.finish()
        report.rows = at.fed
        report.violations += at.violations()
    return report


def recreated(seed: int, say: Say, *, code: Path = ROOT) -> Report:
    """The topic that is read is deleted and created again, with fewer records and with more: the run ends and names it."""
    report = Report("a topic deleted and created again under a run")
    for until, count in ((False, 500), (False, 20_000), (True, 20_000)):
        with rig(seed, code=code, batch=500) as at:
            at.feed(10_000)
            run = at.start(until=until)
            wait_for(lambda at=at: at.count() > 0, "the run")
            at.recreate(count)
            report.struck += 1
            ended, said = run.wait(), run.said()
            if ended == 0 or "it was deleted and created again" not in said or "fix:" not in said:
                report.violations.append(f"{count} records in a new topic: not refused, or not by name:\n{said[-600:]}")
            copies = [id for _, id, _ in at.found().copies]
            foreign = [id for id in copies if id not in at.truth.copies]
            if foreign or len(set(copies)) != len(copies):
                report.violations.append(f"{len(foreign)} copies are of records of the new topic, or some are doubled")
            report.rows += at.fed
    return report
