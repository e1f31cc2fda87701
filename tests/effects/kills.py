"""Kills the sending process again and again, and counts what the receiver got: the promise, put to the test.

    .venv/bin/python -m tests.effects.kills --alerts 1000 --kills 30

A process sends the alerts of an outbox; it is killed (SIGKILL) at random moments while it works, and started again. At the end
the receiver's log is compared with the outbox. Each violation is a sentence in `Verdict.wrong`; the seed repeats the choices.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headrace.effects.outbox import STATES, Outbox
from tests.effects.receivers import HttpReceiver, Log, Mail, Request, SmtpReceiver
from tests.effects.sender import NAME, Kind, Policy

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Verdict:
    seed: int
    kills: int = 0
    """Only those that struck while rows were left."""
    sent: int = 0
    unknown: int = 0
    doubled: int = 0
    wrong: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        said = f"seed {self.seed}: {self.kills} kills, {self.sent} SENT, {self.unknown} UNKNOWN, {self.doubled} arrived twice"
        return "\n".join([said, *self.wrong])


def run(kind: Kind, policy: Policy, folder: Path, *, alerts: int, kills: int, seed: int | None = None) -> Verdict:
    seed = random.randrange(2**32) if seed is None else seed
    print(f"{kind}, {policy}, {alerts} alerts, {kills} kills, seed {seed}", flush=True)
    chance, verdict = random.Random(seed), Verdict(seed)
    receiver = SmtpReceiver() if kind == "email" else HttpReceiver()
    outbox = Outbox(folder / "app" / "effects.db")
    ids = [f"{NAME}:{n}" for n in range(alerts)]
    outbox.insert(NAME, [(id, json.dumps({"n": n})) for n, id in enumerate(ids)])
    command = [sys.executable, "-m", "tests.effects.sender", str(outbox.file), kind, policy, str(receiver.port)]
    try:
        for left in range(kills, 0, -1):
            _kill_once(command, receiver.log, outbox, left, chance, verdict)
        _finish(command, verdict)
        _judge(kind, policy, receiver.log, outbox, ids, verdict)
    finally:
        receiver.close()
        outbox.close()
    print(verdict, flush=True)
    return verdict


def _kill_once(command: Sequence[str], log: Log, outbox: Outbox, left: int, chance: random.Random, verdict: Verdict) -> None:
    """The moment is some arrivals from now and a few milliseconds, so that a kill strikes where something happens."""
    arrived = len(log.entries)
    share = max(2, outbox.waiting().get(NAME, 0) // (left + 1))
    with subprocess.Popen(command, cwd=ROOT) as process:
        log.wait(arrived + chance.randint(1, share))
        time.sleep(chance.random() * 0.004)
        process.send_signal(signal.SIGKILL)
    if outbox.waiting().get(NAME, 0):
        verdict.kills += 1


def _finish(command: Sequence[str], verdict: Verdict) -> None:
    done = subprocess.run([*command, "--to-the-end"], cwd=ROOT, capture_output=True, text=True, timeout=300)
    if done.returncode:
        verdict.wrong.append(f"the last run failed: {done.stderr}")


def _judge(kind: Kind, policy: Policy, log: Log, outbox: Outbox, ids: Sequence[str], verdict: Verdict) -> None:
    states = {entry.id: entry.state for entry in outbox.entries(STATES)}
    arrived: Counter[str] = Counter()
    for entry in log.entries:
        number = entry.subject.removeprefix("alert ") if isinstance(entry, Mail) else entry.row["n"]
        arrived[f"{NAME}:{number}"] += 1
    verdict.sent = sum(state == "SENT" for state in states.values())
    verdict.unknown = sum(state == "UNKNOWN" for state in states.values())
    verdict.doubled = sum(count > 1 for count in arrived.values())
    if set(states) != set(ids):
        verdict.wrong.append(f"the outbox has other ids: {set(states) ^ set(ids)}")
    for id, state in states.items():
        count = arrived[id]
        if state not in ("SENT", "UNKNOWN") or (state == "UNKNOWN" and policy == "at_least_once"):
            verdict.wrong.append(f"{id} is {state}")
        elif state == "SENT" and count == 0:
            verdict.wrong.append(f"{id} is SENT and did not arrive")
        elif policy == "at_most_once" and count > 1:
            verdict.wrong.append(f"{id} arrived {count} times")
    in_doubt = verdict.unknown if policy == "at_most_once" else verdict.doubled
    if in_doubt > verdict.kills * (16 if (kind, policy) == ("webhook", "at_least_once") else 1):
        verdict.wrong.append(f"{in_doubt} were in doubt after {verdict.kills} kills")
    _same_keys(kind, log, verdict)


def _same_keys(kind: Kind, log: Log, verdict: Verdict) -> None:
    """What arrives twice can be told by its key, and no two alerts share one."""
    keys: dict[str, set[str]] = {}
    for entry in log.entries:
        what, key = (entry.subject, entry.id) if isinstance(entry, Mail) else (str(entry.row["n"]), entry.key)
        keys.setdefault(what, set()).add(key)
        if isinstance(entry, Request) and key != f"{NAME}:{entry.row['n']}":
            verdict.wrong.append(f"alert {what} came with the key {key}")
    several = [what for what, found in keys.items() if len(found) > 1]
    if several or len(set().union(*keys.values())) != len(keys):
        verdict.wrong.append(f"{kind}: keys are not one for each alert: {several}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alerts", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    wrong: list[str] = []
    for kind, policy in CASES:
        with tempfile.TemporaryDirectory() as folder:
            wrong += run(kind, policy, Path(folder), alerts=args.alerts, kills=args.kills, seed=args.seed).wrong
    sys.exit(1 if wrong else 0)


CASES: tuple[tuple[Kind, Policy], ...] = (
    ("email", "at_most_once"),
    ("email", "at_least_once"),
    ("webhook", "at_most_once"),
    ("webhook", "at_least_once"),
)

if __name__ == "__main__":
    main()
