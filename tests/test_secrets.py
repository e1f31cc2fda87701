from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import headrace as hr
from headrace.errors import ConfigError, PlanError
from headrace.secrets import MASK, redacted

VALUE = "hunter2-hunter2"


def test_a_secret_of_the_environment_is_read_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = hr.secret("SMTP_PASSWORD")
    monkeypatch.setenv("SMTP_PASSWORD", VALUE)
    assert secret.value() == VALUE
    monkeypatch.setenv("SMTP_PASSWORD", "another")
    assert secret.value() == "another"


def test_a_secret_of_a_file_is_its_text_without_the_end_of_the_line(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(VALUE + "\n")
    assert hr.secret(file=tmp_path / "key").value() == VALUE


def test_a_prefix_goes_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", VALUE)
    assert hr.secret("TOKEN", prefix="Bearer ").value() == f"Bearer {VALUE}"


def test_no_text_and_no_copy_of_a_secret_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", VALUE)
    secret = hr.secret("TOKEN", prefix="Bearer ")
    secret.value()
    assert repr(secret) == str(secret) == f"{secret}" == "hr.secret('TOKEN', prefix='Bearer ')"
    assert VALUE.encode() not in pickle.dumps(secret)


def test_a_missing_secret_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NOT_THERE", raising=False)
    with pytest.raises(ConfigError, match="the environment variable NOT_THERE is not set"):
        hr.secret("NOT_THERE").value()
    monkeypatch.setenv("NOT_THERE", "")
    with pytest.raises(ConfigError, match="NOT_THERE is empty"):
        hr.secret("NOT_THERE").value()
    with pytest.raises(ConfigError, match="nothing can't be read: No such file"):
        hr.secret(file=tmp_path / "nothing").value()
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(ConfigError, match="empty is empty"):
        hr.secret(file=tmp_path / "empty").value()


def test_a_file_that_is_no_text_is_reported_without_its_content(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"\xff" + VALUE.encode())
    with pytest.raises(ConfigError, match="not UTF-8") as e:
        hr.secret(file=tmp_path / "key").value()
    assert e.value.__cause__ is None
    assert VALUE not in str(e.value)


def test_a_secret_is_in_one_place() -> None:
    for options in ({}, {"env": "A", "file": "b"}):
        with pytest.raises(PlanError) as caught:
            hr.secret(**options)
        assert "one place" in caught.value.message


def test_the_secret_itself_in_place_of_its_name_is_refused_and_not_shown() -> None:
    with pytest.raises(PlanError) as e:
        hr.secret("hunter2-hunter2")
    assert "name of an environment variable" in e.value.message
    assert VALUE not in str(e.value)
    assert e.value.where is not None
    assert e.value.where.file.endswith("test_secrets.py")


def test_a_text_loses_the_secrets_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", VALUE)
    secrets = (hr.secret("NOT_THERE"), hr.secret("TOKEN", prefix="Bearer "))
    assert redacted(f"you sent {VALUE}, and Bearer {VALUE}", secrets) == f"you sent {MASK}, and {MASK}"
