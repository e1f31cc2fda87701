"""The file of loaded classes, with a real JVM that is smaller than Spark's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from headrace.spark import archive

MAIN = "class Main { public static void main(String[] a) { System.out.println(new Other()); } }\nclass Other {}"


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    (tmp_path / "Main.java").write_text(MAIN)
    subprocess.run(["javac", "-d", "out", "Main.java"], cwd=tmp_path, check=True)
    subprocess.run(["jar", "cf", "main.jar", "-C", "out", "."], cwd=tmp_path, check=True)
    return tmp_path / "main.jar"


def run(jar: Path, *options: str | None) -> str:
    done = subprocess.run(["java", *filter(None, options), "-cp", str(jar), "Main"], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def test_the_first_jvm_leaves_its_classes_and_the_next_one_takes_them(jar: Path, tmp_path: Path) -> None:
    folder = tmp_path / "classes"
    first = archive.option(folder, [jar])
    assert "Other" in run(jar, first)
    then = archive.option(folder, [jar])
    assert then != first
    loaded = run(jar, then, "-Xlog:class+load")
    assert "Other source: shared objects file (top)" in loaded


def test_a_file_that_was_not_written_to_its_end_is_written_again(jar: Path, tmp_path: Path) -> None:
    first = archive.option(tmp_path / "classes", [jar])
    file = Path((first or "").partition("=")[2])
    file.write_bytes(bytes(4096))
    assert archive.option(tmp_path / "classes", [jar]) == first
    run(jar, first)
    assert archive.option(tmp_path / "classes", [jar]) != first


def test_a_file_that_does_not_fit_is_passed_over(jar: Path, tmp_path: Path) -> None:
    file = tmp_path / "other.jsa"
    file.write_bytes(b"nonsense" * 1000)
    assert "Other@" in run(jar, f"-XX:SharedArchiveFile={file}")


def test_few_files_are_kept_and_those_used_last(tmp_path: Path) -> None:
    jars = [tmp_path / f"{n}.jar" for n in range(5)]
    for path in jars:
        path.touch()
        used = archive.option(tmp_path / "classes", [path]) or ""
        Path(used.partition("=")[2]).write_bytes(b"head")
    assert all("Shared" in (archive.option(tmp_path / "classes", [path]) or "") for path in jars[2:])
    assert len(list((tmp_path / "classes").iterdir())) == 3


def test_a_folder_of_settings_on_the_classpath_has_none(jar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert archive.option(tmp_path / "classes", [jar]) is None
