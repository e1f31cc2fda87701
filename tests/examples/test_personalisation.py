import random
from datetime import timedelta

import pytest

from examples.personalisation import app
from headrace.testing import at

START = at("10:00:00")
SUBJECTS = ["news", "sport", "food", "music"]


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (2, 3))])
def test_recommendations_are_those_of_a_loop_over_everything(drive, seed):
    chance = random.Random(seed)
    readers = {f"r{n}": {"reader": f"r{n}", "language": "en" if n else "de", "personal": n != 3} for n in range(4)}
    articles = {
        f"a{n:02}": {
            "article": f"a{n:02}",
            "subject": chance.choice(SUBJECTS),
            "language": chance.choice(["de", "en"]),
            "score": chance.randrange(4),
        }
        for n in range(24)
    }
    clicks = [
        {"reader": f"r{chance.randrange(5)}", "subject": chance.choice(SUBJECTS), "at": START + timedelta(seconds=second)}
        for second in chance.sample(range(600), 60)
    ]
    t = drive(app)
    t.feed("readers", list(readers.values())).feed("articles", list(articles.values())).run()
    t.feed("clicks", clicks[:40]).run()
    assert found(t) == best(clicks[:40], readers, articles)
    # An article vanishes, another becomes the best of its subject.
    del articles["a03"]
    articles["a05"]["score"] = 9
    t.delete("articles", "a03").feed("articles", [articles["a05"]]).feed("clicks", clicks[40:]).run()
    assert found(t) == best(clicks, readers, articles)
    assert set(found(t)) == {"r0", "r1", "r2"}


def found(t):
    return {reader: row["articles"] for reader, row in t.table("recommendations").items()}


def best(clicks, readers, articles):
    ranks = {}
    for reader in (row for row in readers.values() if row["personal"]):
        liked = [click["subject"] for click in clicks if click["reader"] == reader["reader"]]
        for row in articles.values():
            if row["subject"] in liked and row["language"] == reader["language"]:
                rank = (liked.count(row["subject"]), row["score"], row["article"])
                ranks.setdefault(reader["reader"], []).append(rank)
    return {reader: [article for _, _, article in sorted(of, reverse=True)[:5]] for reader, of in ranks.items()}
