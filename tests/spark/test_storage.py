"""Small files beside checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.spark import jvm, storage


class Died(Exception):
    pass


class Mortal:
    """A file system that dies before its next operation but so many."""

    def __init__(self, system: Any, steps: int) -> None:
        self._system, self._steps = system, steps

    def __getattr__(self, name: str) -> Any:
        if name in ("create", "delete", "rename"):
            if self._steps == 0:
                raise Died
            self._steps -= 1
        return getattr(self._system, name)


@pytest.fixture
def place(tmp_path: Path) -> str:
    return f"{tmp_path}/headrace.json"


@pytest.mark.parametrize("steps", range(6))
def test_after_a_crash_at_any_moment_the_old_file_or_the_new_one_is_there(
    spark: Any, place: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.write_text(spark, place, "old")
    file = jvm.file
    mortal = Mortal(file(spark, place)[0], steps)
    with monkeypatch.context() as patched:
        patched.setattr(jvm, "file", lambda spark, url: (mortal, file(spark, url)[1]))  # pyright: ignore
        try:
            storage.write_text(spark, place, "new")
            died = False
        except Died:
            died = True
    assert died == (steps < 5)
    assert storage.read_text(spark, place) == ("old" if steps < 4 else "new")
    # And the next one is written over whatever that left.
    storage.write_text(spark, place, "newer")
    assert storage.read_text(spark, place) == "newer"
    assert sorted(file.name for file in Path(place).parent.iterdir()) == [".headrace.json.crc", "headrace.json"]
