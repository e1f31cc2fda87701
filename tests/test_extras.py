"""A plain install has no pandas and no pyarrow: only what needs them asks for them, and names the command."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

from headrace import extras
from headrace.errors import SetupError
from tests.docs.readme import ROOT

PLAIN = """
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys(("pandas", "pyarrow", "numpy")))
import headrace.cli, headrace.runtime.run, headrace.testing.fixtures, headrace.testing.driver
for command in pkgutil.iter_modules(headrace.cli.__path__, "headrace.cli."):
    importlib.import_module(command.name)
"""


def test_a_run_the_commands_and_the_testing_kit_need_neither_pandas_nor_pyarrow() -> None:
    done = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_error_names_what_is_missing_and_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    extras.require("pandas", "Python functions")
    for package in extras.EXTRAS["pandas"]:
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SetupError, match="Python functions need pandas and pyarrow, which are not installed") as error:
        extras.require("pandas", "Python functions")
    assert error.value.fix == "pip install 'headrace[pandas]'"


def test_the_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {
        # What only some systems have is not required.
        extra: tuple(package.split(">")[0].replace("-", "_") for package in packages if ";" not in package)
        for extra, packages in declared.items()
    }
    assert names == extras.EXTRAS
