import random
from datetime import timedelta

import pytest

from examples.silent_devices import app
from headrace.testing import at

START = at("10:00:00")


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (2, 3))])
def test_a_device_is_reported_for_each_pause_of_ten_minutes(drive, seed):
    chance = random.Random(seed)
    readings = [
        {"device": f"d{chance.randrange(4)}", "battery": float(n), "at": START + timedelta(seconds=second)}
        for n, second in enumerate(chance.sample(range(3 * 3600), 70))
    ]
    t = drive(app)
    t.feed("devices", [{"device": f"d{n}", "site": "roof", "owner": f"o{n}"} for n in range(3)]).run()
    # Up to 50 seconds out of order.
    arriving = sorted(readings, key=lambda row: row["at"] + timedelta(seconds=chance.randrange(50)))
    for n in range(0, len(arriving), 23):
        t.feed("readings", arriving[n : n + 23], at=arriving[min(n + 22, len(arriving) - 1)]["at"]).run()
    t.advance("1 hour")
    rows = sorted((row["device"], row["last_seen"], row["battery"], row["owner"]) for row in t.rows("silent-devices"))
    assert rows == sorted(silences(readings), key=lambda row: row[:2])
    assert len(rows) > 8


def silences(readings):
    """A reading with no other of its device in the ten minutes after it."""
    owners = {f"d{n}": f"o{n}" for n in range(3)}
    for row in readings:
        until = row["at"] + timedelta(minutes=10)
        if not any(other["device"] == row["device"] and row["at"] < other["at"] <= until for other in readings):
            yield row["device"], row["at"], row["battery"], owners.get(row["device"])


def test_a_device_is_reported_even_if_no_other_reports_either(drive):
    t = drive(app)
    t.feed("readings", [{"device": "d1", "battery": 0.5, "at": START}], at=START).run()
    assert t.rows("silent-devices") == []
    t.advance("20 minutes")
    assert [(row["device"], row["last_seen"], row["site"]) for row in t.rows("silent-devices")] == [("d1", START, None)]
