import random
from datetime import timedelta

import pytest

from examples.fraud_detection import app
from headrace.testing import at

START = at("10:00:00")
CARDS = [{"card": f"c{n}", "owner": f"o{n}", "usual": 10.0 * (n + 1)} for n in range(3)]


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (2, 3))])
def test_alerts_are_those_of_a_loop_over_all_payments(drive, seed):
    chance = random.Random(seed)
    payments = [
        {
            "id": f"p{n}",
            "card": f"c{chance.randrange(4)}",
            "amount": chance.choice([5.0, 20.0, 150.0, 400.0]),
            "lat": chance.choice([48.2, 48.3, 52.5]),
            "lon": chance.choice([16.4, 13.4]),
            "at": START + timedelta(seconds=second),
        }
        for n, second in enumerate(chance.sample(range(7200), 60))
    ]
    t = drive(app)
    t.feed("cards", CARDS).run()
    # Up to four minutes out of order, and some twice.
    arriving = sorted(payments, key=lambda row: row["at"] + timedelta(seconds=chance.randrange(240)))
    arriving += chance.sample(arriving[-5:], 2)
    for n in range(0, len(arriving), 17):
        t.feed("payments", arriving[n : n + 17]).run()
    t.advance("2 hours")
    assert found(t, "large-payments") == sorted(map(alert, large(payments)))
    assert found(t, "distant-payments") == sorted(map(alert, distant(payments)))
    assert found(t, "large-payments")
    assert found(t, "distant-payments")


def found(t, topic):
    return sorted(map(alert, t.rows(topic)))


def alert(row):
    return row["card"], row["at"]


def large(payments):
    usual = {row["card"]: row["usual"] for row in CARDS}
    return [row for row in payments if row["card"] in usual and row["amount"] > 10 * usual[row["card"]]]


def distant(payments):
    for row in payments:
        since = row["at"] - timedelta(minutes=10)
        near = [other for other in payments if other["card"] == row["card"] and since < other["at"] <= row["at"]]
        if any(max(other[axis] for other in near) - min(other[axis] for other in near) > 2 for axis in ("lat", "lon")):
            yield row
