"""Builds the kernel: `kernel/src/**/*.java` -> `src/headrace/_kernel/headrace-kernel.jar`.

Hatchling calls it as a build hook; `python kernel/build.py` does the same by hand. Plain `javac`, against pyspark's jars and
those of the connectors.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "kernel" / "src"
JAR = ROOT / "src" / "headrace" / "_kernel" / "headrace-kernel.jar"
NO_JAVAC = (
    "headrace needs a JDK 17 or 21 to build its kernel: "
    "install one (Debian: apt-get install openjdk-17-jdk-headless) and see that `javac` is on PATH"
)


def version() -> str:
    text = (ROOT / "src" / "headrace" / "version.py").read_text()
    return re.search(r'__version__ = "([^"]+)"', text)[1]


def spark_jars() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        sys.exit("headrace's kernel is compiled against pyspark, which is not installed in the build environment")
    return Path(spec.origin).parent / "jars"


def connector_jars() -> list[Path]:
    # The package is not installed yet, and importing all of it would need more than a build has.
    if "headrace" not in sys.modules:
        package = types.ModuleType("headrace")
        package.__path__ = [str(ROOT / "src" / "headrace")]
        sys.modules["headrace"] = package
    from headrace import jars

    return jars.connector_jars()


def javac() -> str:
    found = shutil.which("javac")
    if found is None:
        sys.exit(NO_JAVAC)
    text = subprocess.run([found, "-version"], capture_output=True, text=True, check=False)
    major = re.search(r"javac (\d+)", text.stdout + text.stderr)
    if major is None or int(major[1]) < 17:
        sys.exit(NO_JAVAC)
    return found


def build() -> Path:
    sources = sorted(str(p) for p in SOURCES.rglob("*.java"))
    with tempfile.TemporaryDirectory() as out:
        command = [javac(), "--release", "17", "-Xlint:all,-processing,-serial,-classfile,-path", "-proc:none", "-d", out]
        classpath = os.pathsep.join(map(str, (spark_jars() / "*", *connector_jars())))
        subprocess.run([*command, "-cp", classpath, *sources], check=True)
        resources = [p for p in SOURCES.rglob("*") if p.is_file() and p.suffix != ".java"]
        JAR.parent.mkdir(parents=True, exist_ok=True)
        part = JAR.with_suffix(".part")
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as jar:
            for file in sorted(Path(out).rglob("*.class")):
                jar.write(file, file.relative_to(out).as_posix())
            for file in resources:
                jar.write(file, file.relative_to(SOURCES).as_posix())
            jar.writestr("headrace/kernel/version.txt", version())
        part.replace(JAR)
    return JAR


if importlib.util.find_spec("hatchling") is not None:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface

    class KernelBuildHook(BuildHookInterface):
        def initialize(self, version: str, build_data: dict) -> None:
            if self.target_name == "wheel":
                build()


if __name__ == "__main__":
    print(build())
