"""Runs programs in the testing kit, over a history and its cuts, and compares what they wrote with the interpreter's word."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.expressions import Row
from fuzz.histories import Cuts, History, moment
from fuzz.interpreter import Interpreter
from fuzz.programs import Node, Program, printed, walk
from headrace import jars
from headrace.spark.session import session
from headrace.testing import Driver
from headrace.testing import driver as kit


@dataclass(frozen=True, slots=True)
class Case:
    """A program over a history that is cut."""

    program: Program
    history: History
    cuts: Cuts


@dataclass(frozen=True, slots=True)
class Difference:
    case: Case
    topic: str
    what: str
    """The rows that are too many and those that are missing, or the error that ended it."""
    kind: str = "rows"


Check = Callable[[Sequence[Program], History, Cuts], list[Difference]]


QUICK = {
    **kit.QUICK,
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""A few records are interpreted sooner than code for them is compiled."""


def start() -> None:
    """A Spark session that spends little on each of many small queries, with its files in memory where possible."""
    if Path("/dev/shm").is_dir() and os.access("/dev/shm", os.W_OK):
        tempfile.tempdir = "/dev/shm"
    log = Path(tempfile.mkdtemp(prefix="headrace-fuzz-")) / "spark.log"
    atexit.register(shutil.rmtree, log.parent, ignore_errors=True)
    quick = (*kit.QUICK_JAVA, "-XX:ReservedCodeCacheSize=256m")
    session("headrace-fuzz", master="local[2,4]", jars=tuple(jars.connector_jars()), log=log, java_options=quick, more=QUICK)


def check(programs: Sequence[Program], history: History, cuts: Cuts, how: Check | None = None) -> list[Difference]:
    """What is wrong with each; where one ends with an error, they run apart until it is alone."""
    if not programs:
        return []
    try:
        return (how or run)(programs, history, cuts)
    except Exception as e:
        if len(programs) > 1:
            half = len(programs) // 2
            return [*check(programs[:half], history, cuts, how), *check(programs[half:], history, cuts, how)]
        what = f"{type(e).__name__}: {e}"[:1500]
        return [Difference(Case(programs[0], history, cuts), programs[0].outputs[0][0], what, "error")]


def run(programs: Sequence[Program], history: History, cuts: Cuts) -> list[Difference]:
    """All programs in one application; what is wrong with each."""
    scope: dict[str, Any] = {}
    text = printed(programs)
    file = Path(tempfile.gettempdir()) / f"fuzz-{os.getpid()}.py"
    file.write_text(text)
    exec(compile(text, str(file), "exec"), scope)
    with Driver(scope["app"]) as driver:
        play(driver, {node["topic"] for program in programs for node in program.sources()}, history, cuts)
        found: list[Difference] = []
        for program in programs:
            case = Case(program, history, cuts)
            for topic, node in program.outputs:
                meant = Interpreter(history, cuts)
                what = difference(node, written(driver, topic, node), meant.rows(node))
                found += [Difference(case, topic, what)] if what else []
                late = meant.late(node)
                if late is not None and late != (counted := driver.total(topic).late_rows):
                    found.append(Difference(case, topic, f"{late} late, and {counted} are counted", "late"))
        return found


def play(driver: Driver, topics: set[str], history: History, cuts: Cuts) -> None:
    for part, barrier in enumerate(history.barriers):
        for number, batch in enumerate(cuts.batches(history, part)):
            if number:
                driver.cut()
            for record in batch:
                if record.topic not in topics:
                    continue
                if record.row is None:
                    # The kit has no time for a delete but its clock's.
                    driver.feed(record.topic, [], at=moment(record.logged)).delete(record.topic, record.key)
                else:
                    driver.feed(record.topic, [dict(record.row)], at=moment(record.logged))
        driver.run()
        if part in cuts.crashes:
            driver.crash()
        if barrier.to is not None:
            driver.advance(to=moment(barrier.to))
        elif part in cuts.crashes:
            driver.run()


def written(driver: Driver, topic: str, node: Node) -> list[Row]:
    return driver.rows(topic) if node.kind == "stream" else list(driver.table(topic).values())


def difference(node: Node, found: Sequence[Row] | None, expected: Sequence[Row] | None) -> str:
    if found is None or expected is None:
        return ""
    if node.verb == "changes" and not _every_change(node):
        found, expected = _settled(node, found), _settled(node, expected)
    names = [name for name in node.columns if name not in _untold(node)]
    left, right = (Counter(_frozen(row, names) for row in rows) for rows in (found, expected))
    if left == right:
        return ""
    lines: list[str] = []
    for sign, rows in (("+", left - right), ("-", right - left)):
        shown = sorted(rows.elements())
        lines += [f"{sign} {row}" for row in shown[:6]] + ([f"{sign} … {len(shown)} in all"] if len(shown) > 6 else [])
    return "\n".join(lines)


def _every_change(node: Node) -> bool:
    """Of one topic every change is told. In which order several are read is not said; behind a running aggregate or a window
    there is one change of a row for each batch."""
    below = list(walk([node]))
    return sum(not one.inputs for one in below) == 1 and not any(one.verb in ("agg", "window") for one in below)


def _settled(node: Node, changes: Sequence[Row]) -> list[Row]:
    """What the changes of a table leave of it."""
    rows: dict[str, Row] = {}
    for change in changes:
        rows[_frozen(change, node.key)] = change
    return [{**change, "op": "is", "before": None} for change in rows.values() if change["op"] != "delete"]


def _untold(node: Node) -> set[str]:
    """Columns that depend on the batches, as documented."""
    windows = [below for below in walk([node]) if below.verb == "window"]
    if any(window["window"].kind == "sliding" and window["emit"] == "updates" for window in windows):
        # The windows behind the newest event come later than the others, and then they are final.
        return {"final"}
    return set()


def _frozen(row: Row, names: Sequence[str]) -> str:
    return ", ".join(f"{name}={_cell(row.get(name))}" for name in names)


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_cell(cell)}" for name, cell in sorted(value.items()) if cell is not None) + "}"
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return repr(value)
    if isinstance(value, int | float):
        return f"{value:g}" if value == int(value) and abs(value) < 1e6 else repr(float(value))
    if isinstance(value, list):
        return "[" + ", ".join(map(_cell, value)) + "]"
    return str(value)
