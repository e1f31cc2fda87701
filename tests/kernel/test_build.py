"""Building the kernel where there is no JDK."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BUILD = Path(__file__).parents[2] / "kernel" / "build.py"


def build(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(BUILD)], env={"PATH": str(path)}, capture_output=True, text=True)


def test_without_javac_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    done = build(tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("headrace needs a JDK 17 or 21")
    assert len(done.stderr.splitlines()) == 1


def test_an_old_javac_is_no_better(tmp_path: Path) -> None:
    javac = tmp_path / "javac"
    javac.write_text("#!/bin/sh\necho javac 11.0.2\n")
    javac.chmod(0o755)
    assert build(tmp_path).stderr.startswith("headrace needs a JDK 17 or 21")
