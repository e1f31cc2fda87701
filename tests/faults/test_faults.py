"""A short run of `make faults`: something of each kind, and a defect that must be noticed."""

from __future__ import annotations

import random

import pytest

from faults import defects, restored, strikes
from faults.strikes import Report

SEED = random.SystemRandom().randrange(1 << 30)


def right(report: Report) -> None:
    assert report.struck, f"nothing was struck, seed {SEED}"
    assert report.violations == [], f"seed {SEED}"


@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.soak)])
def test_checkpoint_surgery(count: int) -> None:
    right(strikes.surgeries(SEED, count, print))


@pytest.mark.soak
def test_a_crash_when_all_is_written_and_nobody_has_noted_it() -> None:
    right(strikes.crash_points(SEED, print, points=("ANSWERED",)))


@pytest.mark.soak
def test_a_crash_at_every_point() -> None:
    right(strikes.crash_points(SEED, print))


@pytest.mark.soak
def test_kills() -> None:
    right(strikes.kills(SEED, 2, 12_000, print, targets=("driver", "worker")))


@pytest.mark.soak
def test_a_destination_that_was_restored_is_noticed_and_a_reset_leads_to_right_results() -> None:
    right(restored.restored(SEED, print))


@pytest.mark.soak
def test_a_broker_that_lost_its_page_cache_is_noticed_and_a_reset_leads_to_right_results() -> None:
    right(restored.page_cache(SEED, print))


@pytest.mark.soak
def test_every_defect_is_noticed() -> None:
    for defect in defects.DEFECTS:
        assert defects.caught(defect, SEED, print), f"{defect.name}, seed {SEED}"
    assert defects.oracle_off_by_one(SEED)


def test_every_defect_finds_its_place_exactly_once() -> None:
    lost = [each.name for each in defects.DEFECTS if (defects.ROOT / each.file).read_text().count(each.old) != 1]
    assert lost == []
