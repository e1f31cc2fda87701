"""A few kills for every change; `python -m tests.effects.kills` does many."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.effects import kills


@pytest.mark.parametrize(("kind", "policy"), [("email", "at_most_once"), ("webhook", "at_least_once")])
def test_an_alert_is_sent_as_often_as_was_promised_however_the_process_ends(
    tmp_path: Path, kind: kills.Kind, policy: kills.Policy
) -> None:
    verdict = kills.run(kind, policy, tmp_path, alerts=200, kills=8)
    assert verdict.wrong == []
    assert verdict.kills >= 4


@pytest.mark.soak
@pytest.mark.parametrize(("kind", "policy"), kills.CASES)
def test_a_thousand_alerts_and_thirty_kills(tmp_path: Path, kind: kills.Kind, policy: kills.Policy) -> None:
    verdict = kills.run(kind, policy, tmp_path, alerts=1000, kills=30)
    assert verdict.wrong == []
    assert verdict.kills >= 20
