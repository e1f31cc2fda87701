from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import SetupError
from headrace.java import require_java


def java_that_says(folder: Path, text: str) -> None:
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    java.chmod(0o755)


def test_the_java_of_this_machine_is_found() -> None:
    assert require_java().name == "java"


def test_java_home_goes_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java_that_says(tmp_path, 'openjdk version "21.0.1" 2023-10-17')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert require_java() == tmp_path / "bin" / "java"


@pytest.mark.parametrize(("said", "major"), [('java version "1.8.0_392"', "8"), ('openjdk version "11.0.2" 2019-01-15', "11")])
def test_an_old_java_is_refused_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, major: str
) -> None:
    java_that_says(tmp_path, said)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SetupError, match=rf"Java {major}\n  fix: install a JDK 17 or 21"):
        require_java()


def test_no_java_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match=r"found no java on PATH\n  fix: install a JDK 17 or 21"):
        require_java()


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SetupError, match=r"(?s)JAVA_HOME is .*fix: unset JAVA_HOME"):
        require_java()
