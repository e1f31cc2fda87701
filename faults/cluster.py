"""The faults of a cluster: two workers of one core and 1 GB, with what they run."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from faults.rig import COPIES, ROOT, WIDE, Rig, Run, Void, descendants, rig, strike, wait_for
from faults.strikes import Report, Say
from tests.runtime.clusters import SECRET, Standalone, standalone

TARGETS = ("executor", "worker", "driver")


@contextmanager
def _cluster(at: Rig) -> Iterator[Standalone]:
    with standalone(at.folder / "cluster") as cluster:
        at.env.update(_settings(cluster))
        yield cluster


def _settings(cluster: Standalone) -> Mapping[str, str]:
    return {"HEADRACE_MASTER": cluster.master, "HEADRACE_CLUSTER_SECRET": SECRET, "HEADRACE_BATCH_BYTES": "4g"}


def kills(seed: int, count: int, say: Say, *, rows: int = 200_000, code: Path = ROOT) -> Report:
    """kill -9 of an executor, of a worker with its executors, and of the driver, while there is work."""
    report, chance = Report("kill -9 of executor, worker and driver, two workers"), random.Random(seed)
    share = rows // count
    with rig(seed, app=WIDE, code=code, batch=max(share // 4, 500), fill=200) as at, _cluster(at) as cluster:
        at.feed(1000)
        at.finish()
        run = at.start()
        while report.struck < count and report.void < count:
            target = TARGETS[report.struck % len(TARGETS)]
            at.feed(share)
            wanted = len(at.truth.copies)
            reach = wanted - int(share * 0.7 * chance.uniform(0.3, 1.0))
            wait_for(lambda run=run, reach=reach: run.process.poll() is not None or at.count() > reach, "progress")
            try:
                if at.count() >= wanted:
                    raise Void("all was done before it was struck")
                _strike(cluster, run, target)
            except Void as e:
                report.void += 1
                say(f"void: {str(e).splitlines()[0]}")
                continue
            began = time.monotonic()
            if target == "driver":
                run.process.wait(60)
                run = at.start()
            run = _until_there(at, run, wanted)
            report.struck += 1
            report.recoveries.append(time.monotonic() - began)
            say(f"{report.struck} of {count}: {target}, all there after {report.recoveries[-1]:.1f} s")
        run.stop()
        at.finish()
        report.rows = at.fed
        report.violations = at.violations()
    return report


def _strike(cluster: Standalone, run: Run, target: str) -> None:
    if target == "driver":
        strike(run.find("driver"))
        return
    worker = cluster.workers[-1]
    executors = descendants(worker.pid)
    if not executors:
        raise Void("the worker has no executor")
    if target == "worker":
        strike(worker.pid)
        worker.wait()
        cluster.add_worker()
    else:
        strike(executors[-1])


def _until_there(at: Rig, run: Run, wanted: int) -> Run:
    """Starts the application again if it gave up: it goes on where it was."""
    while at.count() < wanted:
        if run.process.poll() is not None:
            run = at.start()
        wait_for(lambda run=run: run.process.poll() is not None or at.count() >= wanted, "all of it")
    return run


def wide(seed: int, say: Say, *, rows: int = 900_000, seconds: float = 900, code: Path = ROOT) -> Report:
    """One batch that is larger than all executors together, pinned by a run that was killed in the middle of it."""
    report = Report(
        f"a batch of {rows:,} records of 1.5 kB on two workers of 1 GB; kill -9 of driver and executor in the middle of it"
    )
    with rig(seed, app=WIDE, code=code, batch=rows, fill=1450) as at, _cluster(at) as cluster:
        at.feed(rows)
        run = at.start(until=True)
        wait_for(lambda: list((at.state / "faults").glob("copies/offsets/0")), "the batch is planned")
        strike(run.find("driver"))
        run.process.wait(60)
        began, run = time.monotonic(), at.start(until=True)
        wait_for(lambda: run.process.poll() is not None or _writing(at), "the driver, which writes the rows", seconds)
        # Of the rows that it holds the driver has fetched a few.
        _strike(cluster, run, "executor")
        if run.wait(seconds) != 0:
            raise RuntimeError(f"the application does not come to its end:\n{run.said()}")
        report.struck = 2
        report.recoveries.append(time.monotonic() - began)
        say(f"all there after {report.recoveries[-1]:.0f} s")
        report.rows = at.fed
        report.violations = at.violations()
    return report


def _writing(at: Rig) -> bool:
    return any(place.startswith(COPIES) for place in at.open())
