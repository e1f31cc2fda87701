"""The wheel: it installs without a compiler, and the README's commands work with it."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.docs import readme

COMPILER = re.compile(r"javac|(.*-)?(cc|c\+\+|gcc|g\+\+|clang)(-\d+)?")
UV = readme.ROOT / ".tools" / "bin" / "uv"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: a build replaces the kernel that other tests use."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("src", "kernel"):
        shutil.copytree(readme.ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "_kernel"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(readme.ROOT / name, copy)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel"], cwd=copy, check=True, capture_output=True)
    (found,) = (copy / "dist").glob("*.whl")
    return found


@pytest.mark.soak
def test_it_holds_the_kernel_its_licence_and_nothing_else_but_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        with zipfile.ZipFile(io.BytesIO(file.read("headrace/_kernel/headrace-kernel.jar"))) as jar:
            # Nobody else's classes are in it, so no other licence has to be.
            assert {name.split("/")[0] for name in jar.namelist()} <= {"headrace", "META-INF"}
    assert "headrace/_kernel/headrace-kernel.jar" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"headrace"}
    assert [name for name in names if name.endswith(".jar")] == ["headrace/_kernel/headrace-kernel.jar"]
    assert wheel.name.endswith("-py3-none-any.whl")
    assert wheel.stat().st_size < 2_000_000


@pytest.mark.soak
def test_the_readme_works_with_it_where_there_is_java_and_no_javac(wheel: Path, tmp_path: Path, free_port: int) -> None:
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    environ = {**os.environ, "PATH": str(without_compilers(tmp_path / "bin"))}
    environ.pop("JAVA_HOME", None)
    assert shutil.which("java", path=environ["PATH"])
    assert not shutil.which("javac", path=environ["PATH"])
    # PySpark comes as source, all Python.
    subprocess.run([UV, "pip", "install", "--quiet", "--python", python, wheel, "pytest"], check=True, env=environ)
    installed = subprocess.run([UV, "pip", "list", "--python", python], check=True, capture_output=True, text=True).stdout
    assert not {"pandas", "pyarrow", "numpy"} & set(installed.split())
    readme.does_what_it_says(tmp_path, free_port, str(python), environ)
    readme.computes_what_its_program_declares(tmp_path, free_port, str(python), environ)


def without_compilers(folder: Path) -> Path:
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            if not COMPILER.fullmatch(program.name) and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    return folder
