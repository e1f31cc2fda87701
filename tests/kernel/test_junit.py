"""The kernel's own tests, kernel/test, in one JVM."""

from __future__ import annotations

import os
import re
import subprocess
import zipfile
from pathlib import Path

import pyspark

import headrace
from headrace import jars
from headrace.java import require_java

TESTS = Path(__file__).parents[2] / "kernel" / "test"
KERNEL = Path(headrace.__file__).parent / "_kernel" / "headrace-kernel.jar"
SPARK = Path(pyspark.__file__).parent / "jars"


def module_options() -> list[str]:
    """The packages Spark opens to itself on Java 17: constants of its launcher, which has no command that prints them."""
    with zipfile.ZipFile(next(SPARK.glob("spark-launcher_*.jar"))) as launcher:
        constants = launcher.read("org/apache/spark/launcher/JavaModuleOptions.class")
    return re.findall(r"--add-opens=[\w./]+=ALL-UNNAMED", constants.decode("latin-1"))


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_every_junit_test_of_the_kernel_passes(tmp_path: Path) -> None:
    java = require_java()
    classpath = os.pathsep.join(map(str, [tmp_path, KERNEL, *jars.junit_jars(), *jars.connector_jars(), SPARK / "*"]))
    sources = sorted(TESTS.rglob("*.java"))
    compiled = run("javac", "--release", "17", "-encoding", "UTF-8", "-proc:none", "-cp", classpath, "-d", tmp_path, *sources)
    assert compiled.returncode == 0, compiled.stdout

    launcher = ["org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner", "--disable-ansi-colors"]
    scan = ["--details=summary", f"--scan-class-path={tmp_path}"]
    done = run(java, *module_options(), "-cp", classpath, *launcher, *scan)
    tests = {outcome: int(count) for count, outcome in re.findall(r"(\d+) tests (\w+)", done.stdout)}
    assert done.returncode == 0, done.stdout
    assert 0 < tests["found"] == tests["successful"], done.stdout
