"""Defects, put into a copy of the product on purpose: each must be caught, or the harness proves nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from faults import cluster, restored, strikes
from faults.oracle import violations
from faults.rig import ROOT, rig
from faults.strikes import Report, Say

SINK = "kernel/src/headrace/kernel/sink"


@dataclass(frozen=True)
class Defect:
    """Text of a file that is replaced by another, and the fault that has to show it."""

    name: str
    file: str
    old: str
    new: str
    caught_by: Callable[[int, Say, Path], Report]


def _crash(*points: str) -> Callable[[int, Say, Path], Report]:
    return lambda seed, say, code: strikes.crash_points(seed, say, points=points, code=code)


def _programs(*options: str) -> Callable[[int, Say, Path], Report]:
    """Random programs: as many as `make fuzz` runs, up to the first that is wrong."""

    def run(seed: int, say: Say, code: Path) -> Report:
        fuzz = [sys.executable, "-m", "fuzz", "--seed", str(seed), "--differences", "1", "--shrink", "0", *options]
        env = {**os.environ, "PYTHONPATH": str(code / "src")}
        done = subprocess.run(fuzz, cwd=ROOT, env=env, capture_output=True, text=True)
        found = [line for line in done.stdout.splitlines() if line.startswith("=== ")]
        last = [line for line in done.stdout.splitlines() if line.startswith("seed ")]
        if not last:
            raise LookupError(f"no program was run:\n{done.stderr[-600:]}")
        say(last[-1])
        return Report("random programs", struck=1, violations=found)

    return run


def _surgery(seed: int, say: Say, code: Path) -> Report:
    return strikes.surgeries(seed, 3, say, code=code)


DEFECTS = (
    Defect(
        "marker outside the transaction",
        f"{SINK}/kafka/KafkaBatch.java",
        "    Point.ROWS_SENT.reached(batch.number());\n",
        "    Point.ROWS_SENT.reached(batch.number());\n    producer.commitTransaction();\n    producer.beginTransaction();\n",
        _crash("MARK_SENT"),
    ),
    Defect(
        "no marker check",
        f"{SINK}/Mark.java",
        "    if (mark == null) return false;",
        "    if (mark == null || true) return false;",
        _surgery,
    ),
    Defect(
        "name instead of id",
        f"{SINK}/spark/SinkTable.java",
        "new SinkWrite(sink, info.queryId(), location)",
        "new SinkWrite(sink, sink, location)",
        lambda seed, say, code: strikes.refusals(seed, say, code=code),
    ),
    Defect(
        "skipped batch not drained",
        f"{SINK}/spark/SinkWriter.java",
        "    rows++;\n",
        "    rows++;\n"
        "    if (java.util.Arrays.stream(writers).allMatch(each -> each == null))"
        ' throw new headrace.kernel.sink.SinkException("skipped");\n',
        _surgery,
    ),
    Defect(
        # What was known before the timeout is held for true, and the batch sent again.
        "producer reused after a timeout",
        f"{SINK}/kafka/KafkaDestination.java",
        "    return mark();\n",
        "    Object known = System.getProperties().computeIfAbsent(settings.id, id -> java.util.Optional.ofNullable(mark()));\n"
        "    return (Mark) ((java.util.Optional<?>) known).orElse(null);\n",
        lambda seed, say, code: strikes.lost_answers(seed, say, code=code),
    ),
    Defect(
        "no fencing",
        f"{SINK}/kafka/KafkaDestination.java",
        'config.put("transactional.id", settings.id);',
        'config.put("transactional.id", settings.id + java.util.UUID.randomUUID());',
        _crash("FLUSHED"),
    ),
    Defect(
        "a destination that went back is not noticed",
        f"{SINK}/Mark.java",
        "    if (last != null && (mark == null",
        "    if (last == null && (mark == null",
        lambda seed, say, code: restored.restored(seed, say, places=("sqlite",), code=code),
    ),
    Defect(
        "what was confirmed is not kept",
        f"{SINK}/Destinations.java",
        "    confirmed.write(number, now);\n",
        "",
        lambda seed, say, code: restored.restored(seed, say, places=("sqlite",), code=code),
    ),
    Defect(
        "the ends of topics are not compared",
        f"{SINK}/kafka/KafkaDestination.java",
        "      if (now < end) throw",
        "      if (now < 0) throw",
        lambda seed, say, code: restored.page_cache(seed, say, code=code),
    ),
    Defect(
        "what a task leaves is kept in memory",
        f"{SINK}/TaskOutput.java",
        "PIECE = 4 << 20, IN_RESULT = 256 << 10",
        "PIECE = Integer.MAX_VALUE, IN_RESULT = Integer.MAX_VALUE",
        lambda seed, say, code: cluster.wide(seed, say, seconds=240, code=code),
    ),
    Defect(
        "the rows of a lost executor are left out",
        f"{SINK}/TaskOutput.java",
        "found = blocks.getRemoteBytes(id);\n",
        "found = blocks.getRemoteBytes(id);\n      if (found.isEmpty()) return InputStream.nullInputStream();\n",
        lambda seed, say, code: cluster.wide(seed, say, rows=300_000, code=code),
    ),
    Defect(
        "dead letters off",
        f"{SINK}/DeadLetters.java",
        "    deadLetters.putIfAbsent(deadLetter.id(), deadLetter);",
        "    deadLetters.isEmpty();",
        _surgery,
    ),
    Defect(
        "topics known by their names only",
        "src/headrace/runtime/checkpoints/incarnations.py",
        " or spec.reads(topic)",
        "",
        lambda seed, say, code: strikes.recreated(seed, say, code=code),
    ),
    Defect(
        "a URL is not its folder",
        "src/headrace/config.py",
        'if value.lower().startswith("file:"):',
        "if False:",
        lambda seed, say, code: strikes.two_runs(seed, say, code=code),
    ),
    Defect(
        "history sees one version a batch",
        "src/headrace/plan/traits.py",
        'steps="moment" if node.as_of == "event_time" else "batch",',
        'steps="batch",',
        _programs(),
    ),
    Defect(
        "silence moves time to whole seconds",
        "src/headrace/runtime/pace.py",
        "end = max(self.newest.values()) + self._reach",
        "end = (max(self.newest.values()) + self._reach) // 1_000_000 * 1_000_000",
        _programs(),
    ),
    Defect(
        # Spark then puts a bounded run into one batch.
        "pulses don't know bounded runs",
        "kernel/src/headrace/kernel/time/Pulses.java",
        "public final class Pulses implements MicroBatchStream, SupportsTriggerAvailableNow {",
        "interface Unbounded extends org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl {\n"
        "  void prepareForTriggerAvailableNow();\n}\n\n"
        "public final class Pulses implements MicroBatchStream, Unbounded {",
        _programs("--broker", "--programs", "100"),
    ),
)


def caught(defect: Defect, seed: int, say: Say) -> str | None:
    """How the harness noticed; None if it did not."""
    with _tree(defect) as code:
        try:
            report = defect.caught_by(seed, say, code)
        except RuntimeError as e:
            return str(e).splitlines()[0]
    if not report.struck:
        return None
    return report.violations[0].splitlines()[0] if report.violations else None


def oracle_off_by_one(seed: int) -> str | None:
    """The last defect is one of the oracle's: one event that it does not know of."""
    with rig(seed) as at:
        at.feed(500)
        at.finish()
        at.truth.sums.popitem()
        wrong = violations(at.truth, at.found())
    return wrong[0] if wrong else None


@contextmanager
def _tree(defect: Defect) -> Iterator[Path]:
    """A copy of the product with the defect in it, built."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-defect-"))
    try:
        for part in ("src", "kernel", "faults"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        file = folder / defect.file
        text = file.read_text()
        if text.count(defect.old) != 1:
            raise LookupError(f"the defect {defect.name!r} has no place in {defect.file} any more")
        file.write_text(text.replace(defect.old, defect.new))
        subprocess.run([sys.executable, str(folder / "kernel" / "build.py")], check=True, capture_output=True)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
