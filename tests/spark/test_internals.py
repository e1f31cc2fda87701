"""ARCHITECTURE.md lists what is used of Spark's internals, and the tests that notice a change."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
KERNEL = ROOT / "kernel" / "src" / "headrace" / "kernel"
INSIDE = re.compile(r"import (?:static )?org\.apache\.spark\.sql\.(?:catalyst|execution|classic|kafka010)\.")
PRIVATE = re.compile(r"\._j(?:df|c|vm|sc|sq|sparkSession)\b|\._gateway\b|_active_spark_context|watermarkDelayMs")


def rows() -> list[list[str]]:
    section = (ROOT / "ARCHITECTURE.md").read_text().partition("\n## Spark's internals\n")[2].partition("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("| `") or " | " in line
    ]


def quoted(column: int) -> set[str]:
    return {name for row in rows()[1:] for name in re.findall(r"`([^`]+)`", row[column])}


def test_every_test_that_notices_a_change_exists() -> None:
    assert len(quoted(3)) > 10
    assert [name for name in sorted(quoted(3)) if not (ROOT / name).is_file()] == []


def test_every_use_of_spark_internals_is_on_the_page() -> None:
    users = {str(path.relative_to(KERNEL)) for path in KERNEL.rglob("*.java") if INSIDE.search(path.read_text())}
    listed = quoted(1)
    assert users
    assert [user for user in sorted(users) if not any(user == f"{name}.java" or user.startswith(name) for name in listed)] == []


def test_every_private_name_of_pyspark_is_used_in_a_file_of_the_page() -> None:
    source = ROOT / "src" / "headrace"
    users = {str(path.relative_to(source)) for path in source.rglob("*.py") if PRIVATE.search(path.read_text())}
    listed = quoted(1)
    assert users
    assert [user for user in sorted(users) if not any(user.startswith(name) for name in listed)] == []
