"""Formats and checks the kernel's Java: `python kernel/lint.py` checks, `python kernel/lint.py --write` formats.

google-java-format lays out code, imports and comments; javac compiles everything with its warnings as errors. What has passed
is noted in .tools, so only changed files are looked at again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import build

ROOT = build.ROOT
NOTED = ROOT / ".tools" / "java-lint.json"
COMPILER = ("api", "code", "file", "parser", "tree", "util")
WARNINGS = "-Xlint:all,-processing,-serial,-classfile,-path"


def main(arguments: Sequence[str]) -> int:
    if arguments not in ([], ["--write"]):
        print("usage: python kernel/lint.py [--write]", file=sys.stderr)
        return 2
    files = sorted(ROOT.glob("kernel/*/**/*.java"))
    if arguments:
        run_formatter([file for file in files if digest([file]) not in noted()], "--replace")
        return 0
    passed = noted()
    changed = [file for file in files if digest([file]) not in passed]
    with ThreadPoolExecutor() as pool:
        compiled = pool.submit(warnings, files) if digest(files) not in passed else None
        problems = layout(changed)
        problems += compiled.result() if compiled else []
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        NOTED.parent.mkdir(exist_ok=True)
        NOTED.write_text(json.dumps(sorted({digest(files), *(digest([file]) for file in files)})))
    return 1 if problems else 0


def noted() -> set[str]:
    return set(json.loads(NOTED.read_text())) if NOTED.exists() else set()


def digest(files: Sequence[Path]) -> str:
    """Of the files and of what judges them."""
    found = hashlib.sha256((ROOT / "src" / "headrace" / "jars.toml").read_bytes() + Path(__file__).read_bytes())
    for file in files:
        found.update(f"\0{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return found.hexdigest()


def layout(files: Sequence[Path]) -> list[str]:
    return [f"{name}: not formatted; run: make format" for name in run_formatter(files, "--dry-run").splitlines()]


def run_formatter(files: Sequence[Path], mode: str) -> str:
    if not files:
        return ""
    build.connector_jars()  # puts headrace on the path
    from headrace import jars

    exports = [f"--add-exports=jdk.compiler/com.sun.tools.javac.{part}=ALL-UNNAMED" for part in COMPILER]
    java = Path(build.javac()).with_name("java")
    names = [str(file.relative_to(ROOT)) for file in files]
    # A short run: the second compiler of the JVM would cost more than it saves.
    command = [java, "-XX:TieredStopAtLevel=1", *exports, "-jar", *jars.formatter_jars(), mode]
    done = subprocess.run([*command, *names], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return done.stdout


def warnings(files: Sequence[Path]) -> list[str]:
    """What javac says of the kernel and its tests."""
    build.connector_jars()
    from headrace import jars

    out = tempfile.mkdtemp()
    try:
        jars_used = (build.spark_jars() / "*", *jars.connector_jars(), *jars.junit_jars())
        options = ["--release", "17", WARNINGS, "-Werror", "-encoding", "UTF-8", "-proc:none", "-Xmaxwarns", "1000"]
        command = [build.javac(), *options, "-d", out, "-cp", os.pathsep.join(map(str, jars_used)), *map(str, files)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return [done.stderr.strip().replace(f"{ROOT}/", "")] if done.returncode != 0 else []
    finally:
        shutil.rmtree(out, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
