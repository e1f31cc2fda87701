"""A difference as text: the program, what was fed, what is there that should not be and what is missing."""

from __future__ import annotations

from fuzz.histories import moment
from fuzz.programs import printed
from fuzz.run import Difference


def text(found: Difference, seed: int) -> str:
    case = found.case
    topics = {node["topic"] for node in case.program.sources()}
    lines = [f"=== seed {seed}, {found.topic}: {found.kind}", printed([case.program])]
    for part, barrier in enumerate(case.history.barriers):
        for number, batch in enumerate(case.cuts.batches(case.history, part)):
            lines += ["cut"] if number else []
            for record in batch:
                if record.topic in topics:
                    row = f"delete {record.key}" if record.row is None else _row(record.row)
                    lines.append(f"feed {record.topic} at {moment(record.logged):%m-%d %H:%M:%S.%f}: {row}")
        lines.append("run")
        lines += ["crash"] if part in case.cuts.crashes else []
        lines += [f"advance to {moment(barrier.to)}"] if barrier.to is not None else []
    return "\n".join(
        [*lines, "", "+ is there and should not be, - is missing:" if found.kind == "rows" else "", found.what, ""]
    )


def _row(row: object) -> str:
    assert isinstance(row, dict)
    return ", ".join(f"{name}={value}" for name, value in row.items())
