"""`make faults`: strikes, prints what it did and found, and writes the table of docs/reliability.md."""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
import traceback
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path

from faults import cluster, defects, restored, strikes
from faults.strikes import Report

PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"


def main() -> int:
    options = argparse.ArgumentParser(prog="make faults")
    options.add_argument("--seed", type=int, default=None, help="the same seed strikes at the same places")
    options.add_argument("--surgeries", type=int, default=200)
    options.add_argument("--kills", type=int, default=60)
    options.add_argument("--database", type=int, default=5, help="kills of PostgreSQL")
    options.add_argument("--cluster", type=int, default=12, help="kills of executors, workers and drivers of a cluster")
    options.add_argument("--effects", type=int, default=30, help="kills for each kind of effect, over --alerts")
    options.add_argument("--alerts", type=int, default=1000)
    options.add_argument("--corruptions", type=int, default=12)
    options.add_argument("--rows", type=int, default=1_000_000, help="of the kills")
    options.add_argument("--only", nargs="+", metavar="FAULT", help="of: " + ", ".join(_faults(options.parse_args([]), 0)))
    args = options.parse_args()
    seed = random.SystemRandom().randrange(1 << 30) if args.seed is None else args.seed
    print(f"seed {seed}", flush=True)
    faults = _faults(args, seed)
    chosen = args.only or list(faults)
    if unknown := [name for name in chosen if name not in faults]:
        options.error(f"no fault is called {unknown[0]}; there are: {', '.join(faults)}")
    reports: list[Report] = []
    for name in chosen:
        print(f"{name} ...", flush=True)
        began = time.monotonic()
        try:
            reports.append(faults[name]())
        except Exception as e:
            # The other faults are worth knowing all the same.
            traceback.print_exc()
            reports.append(Report(name, violations=[f"{name} did not come to its end: {e}"]))
        print(f"{name}: {_sentence(reports[-1])}, in {time.monotonic() - began:.0f} s", flush=True)
    print(table(reports))
    if not args.only:
        _write(f"{date.today()}, seed {seed}.\n\n{table(reports)}")
    wrong = [line for report in reports for line in report.violations]
    for line in wrong[:50]:
        print(line, file=sys.stderr)
    return 1 if wrong or any(report.struck == 0 for report in reports) else 0


def _faults(args: argparse.Namespace, seed: int) -> dict[str, Callable[[], Report]]:
    def say(text: str) -> None:
        print(f"  {text}", flush=True)

    return {
        "surgeries": lambda: strikes.surgeries(seed, args.surgeries, say),
        "points": lambda: strikes.crash_points(seed, say),
        "answers": lambda: strikes.lost_answers(seed, say),
        "kills": lambda: strikes.kills(seed, args.kills, args.rows, say),
        "records": lambda: strikes.bad_records(seed, say),
        "database-points": lambda: strikes.database_points(seed, say),
        "sqlite-points": lambda: strikes.sqlite_points(seed, say),
        "database": lambda: strikes.database(seed, args.database, say),
        "effects": lambda: strikes.effects(seed, args.alerts, args.effects, say),
        "zombie": lambda: strikes.zombie(seed, say),
        "frozen": lambda: strikes.frozen(seed, say),
        "refusals": lambda: strikes.refusals(seed, say),
        "corruption": lambda: strikes.corruption(seed, args.corruptions, say),
        "disk": lambda: strikes.full_disk(seed, say),
        "restored": lambda: restored.restored(seed, say),
        "page-cache": lambda: restored.page_cache(seed, say),
        "two": lambda: strikes.two_runs(seed, say),
        "recreated": lambda: strikes.recreated(seed, say),
        "cluster": lambda: cluster.kills(seed, args.cluster, say),
        "wide": lambda: cluster.wide(seed, say),
        "defects": lambda: _defects(seed, say),
    }


def _defects(seed: int, say: Callable[[str], None]) -> Report:
    """A defect that is not noticed is a violation."""
    report = Report("defects put in on purpose, all noticed")
    tries: dict[str, Callable[[], str | None]] = {
        defect.name: partial(defects.caught, defect, seed, lambda text: None) for defect in defects.DEFECTS
    }
    tries["oracle off by one"] = partial(defects.oracle_off_by_one, seed)
    for name, attempt in tries.items():
        how = attempt()
        say(f"{name}: {how or 'NOT NOTICED'}")
        report.struck += 1
        report.violations += [] if how else [f"the defect {name!r} was not noticed"]
    return report


def _sentence(report: Report) -> str:
    void = f" ({report.void} void)" if report.void else ""
    return f"{report.struck} struck{void}, {len(report.violations)} violations"


def table(reports: list[Report]) -> str:
    lines = ["| fault | struck | rows | lost, doubled or wrong | recovered within (p95) |", "|---|---|---|---|---|"]
    for report in reports:
        p95 = "" if report.p95 is None else f"{report.p95:.0f} s"
        rows = f"{report.rows:,}" if report.rows else ""
        lines.append(f"| {report.fault} | {report.struck} | {rows} | {len(report.violations)} | {p95} |")
    return "\n".join(lines)


def _write(found: str) -> None:
    text = PAGE.read_text()
    PAGE.write_text(re.sub(r"(?s)(<!-- faults -->\n).*(<!-- /faults -->)", lambda m: m[1] + found + "\n" + m[2], text))


if __name__ == "__main__":
    sys.exit(main())
