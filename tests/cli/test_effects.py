from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.effects.outbox import Outbox, Settled

APP = """
import headrace as hr

app = hr.App("market")
app.stream("trades", schema="symbol string").to("copy")
"""


@pytest.fixture
def outbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Outbox:
    """One row in each state but DROPPED."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(APP)
    outbox = Outbox(tmp_path / ".headrace" / "state" / "market" / "effects.db")
    for n, id in enumerate(("sent", "failed", "unknown", "sending", "pending")):
        outbox.insert("mail", [(id, json.dumps({"symbol": id}))], now=1_700_000_000_000_000 + n)
    outbox.advance("mail", [], 4, now=1_700_000_001_000_000)
    settled = [Settled("sent", "SENT"), Settled("failed", "FAILED", "550 \x1b[2Jno"), Settled("unknown", "UNKNOWN", "lost")]
    outbox.advance("mail", settled, 0, now=1_700_000_002_000_000)
    outbox.insert("hook", [("hook-1", "{}")], now=1_700_000_000_000_009)
    return outbox


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    capsys.readouterr()
    assert main(["effects", "list", "app.py", *words, "--json"]) == 0
    return [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()]


def test_list_shows_what_is_not_sent_or_what_is_asked_for(outbox: Outbox, capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys) == ["failed", "unknown", "sending", "pending", "hook-1"]
    assert listed(capsys, "sent", "UNKNOWN") == ["sent", "unknown"]
    assert listed(capsys, "--effect", "hook") == ["hook-1"]
    assert listed(capsys, "--limit", "2") == ["failed", "unknown"]
    assert listed(capsys, "dropped") == []


def test_list_is_for_people_too_and_moves_no_cursor(outbox: Outbox, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["effects", "list", "market", "failed"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "ID      EFFECT  STATE   ATTEMPTS  CREATED                   CHANGED                   CAUSE",
        "failed  mail    FAILED         1  2023-11-14T22:13:20.000Z  2023-11-14T22:13:22.000Z  550 \\x1b[2Jno",
    ]
    assert said.err.splitlines() == ["hook: 1 PENDING", "mail: 1 FAILED, 1 PENDING, 1 SENDING, 1 SENT, 1 UNKNOWN"]
    assert main(["effects", "list", "market", "dropped"]) == 0
    assert capsys.readouterr().out == "nothing is DROPPED\n"


def test_show_has_the_row(outbox: Outbox, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["effects", "show", "app.py", "unknown", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["state"], shown["cause"], shown["row"]) == ("UNKNOWN", "lost", {"symbol": "unknown"})
    assert main(["effects", "show", "app.py", "unknown"]) == 0
    assert '{"symbol": "unknown"}' in capsys.readouterr().out
    assert main(["effects", "show", "app.py", "nothing"]) == 1
    assert "there is no 'nothing' in" in capsys.readouterr().err


@pytest.mark.parametrize(("flag", "state"), [("--sent", "SENT"), ("--again", "PENDING"), ("--drop", "DROPPED")])
def test_resolve_decides(outbox: Outbox, capsys: pytest.CaptureFixture[str], flag: str, state: str) -> None:
    assert main(["effects", "resolve", "app.py", "unknown", "failed", flag]) == 0
    assert capsys.readouterr().out == f"2 are {state} now\n"
    entry = outbox.find("unknown")
    assert entry is not None
    assert (entry.state, entry.attempts) == (state, 0)


def test_resolve_leaves_what_is_sent_or_being_sent(outbox: Outbox, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["effects", "resolve", "app.py", "sent", "sending", "pending", "--drop"]) == 1
    said = capsys.readouterr()
    assert said.out == "1 is DROPPED now\n"
    assert said.err == "sending is SENDING: left as it is\nsent is SENT: left as it is\n"


def test_resolve_all_asks_first(outbox: Outbox, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert main(["effects", "resolve", "app.py", "--all", "failed", "--again"]) == 1
    assert "PENDING for 1 that is FAILED? [y/N] nothing was changed" in capsys.readouterr().err
    assert main(["effects", "resolve", "app.py", "--all", "failed", "--again", "--yes"]) == 0
    assert capsys.readouterr().out == "1 is PENDING now\n"
    assert main(["effects", "resolve", "app.py", "--all", "pending", "--effect", "hook", "--drop", "--yes"]) == 0
    assert listed(capsys, "dropped") == ["hook-1"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["resolve", "app.py", "--sent"], "resolve takes ids, or --all and a state"),
        (["resolve", "app.py", "failed", "--all", "failed", "--sent"], "resolve takes ids, or --all and a state"),
        (["resolve", "app.py", "nothing", "--sent"], "there is no 'nothing'"),
        (["list", "other"], "there is no outbox"),
        (["list", "app.py", "--state", "hdfs://somewhere/state"], "on a disk of this machine"),
    ],
)
def test_what_is_impossible_is_an_error_that_says_why(
    outbox: Outbox, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["effects", *words]) == 1
    assert said in capsys.readouterr().err


def test_a_state_that_is_none_is_refused(outbox: Outbox, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["list", "lost"], ["resolve", "--all", "sent", "--drop"], ["resolve", "failed"]):
        with pytest.raises(SystemExit):
            main(["effects", words[0], "app.py", *words[1:]])
    capsys.readouterr()


def test_the_state_folder_can_be_named(outbox: Outbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moved = tmp_path / "elsewhere"
    (tmp_path / ".headrace" / "state").rename(moved)
    assert len(listed(capsys, "--state", str(moved))) == 5
