from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headrace import cli
from headrace.errors import ConfigError


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert all(f"    {name} " in out for name in cli.COMMANDS)


def test_help_of_the_command_line_loads_no_client_and_no_spark() -> None:
    heavy = "confluent_kafka", "pyspark", "jgo", "rich", "pandas"
    program = (
        f"import sys, headrace.cli as c\ntry: c.main(['--help'])\nfinally: print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", ["up", "down", "status", "config", "topics", "send", "peek", "effects"])
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([name, "--help"])
    assert ended.value.code == 0
    assert "usage: headrace " + name in capsys.readouterr().out


def test_an_error_is_a_sentence_and_a_trace_only_with_debug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_PORT", "none")
    assert cli.main(["config"]) == 1
    err = capsys.readouterr().err
    assert err == "error: port is 'none' (HEADRACE_PORT)\n  fix: set it to a port between 1 and 65535\n"
    for words in (["--debug", "config"], ["config", "--debug"]):
        with pytest.raises(ConfigError):
            cli.main(words)


def test_ctrl_c_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.cli import config

    def interrupted(args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(config, "run", interrupted)
    assert cli.main(["config"]) == 130


def test_a_wrong_command_is_refused_with_the_names_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["tpics"])
    assert ended.value.code == 2
    assert "topics" in capsys.readouterr().err
