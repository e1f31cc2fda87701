"""Finds the Java that Spark and the embedded broker run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from headrace.errors import SetupError

OLDEST = 17
INSTALL = "install a JDK 17 or 21 (Debian: apt-get install openjdk-17-jdk-headless; macOS: brew install openjdk@17)"


def require_java() -> Path:
    """The java executable, of JAVA_HOME or else of PATH."""
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if not os.access(java, os.X_OK):
            raise SetupError(f"JAVA_HOME is {home}, and there is no bin/java in it", fix="unset JAVA_HOME, or " + INSTALL)
    else:
        found = shutil.which("java")
        if found is None:
            raise SetupError("Headrace needs Java 17 or 21, and found no java on PATH", fix=INSTALL)
        java = Path(found)
    major = major_version(java)
    if major < OLDEST:
        raise SetupError(f"Headrace needs Java 17 or 21; {java} is Java {major}", fix=INSTALL + ", or point JAVA_HOME at one")
    return java


def major_version(java: Path) -> int:
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise SetupError(f"{java} does not run: {e}", fix=INSTALL) from e
    # Java 8 calls itself 1.8.
    match = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    if said.returncode != 0 or match is None:
        raise SetupError(f"{java} does not report its version", fix=INSTALL)
    return int(match[1])
