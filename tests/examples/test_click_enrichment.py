from examples.click_enrichment import app


def test_a_profile_counts_from_the_moment_it_arrives(drive):
    t = drive(app)
    # The clock follows the clicks: the second profile of ann arrives at 10:00:00, all in one batch.
    t.feed("profiles", [{"user": "ann", "name": "Ann", "country": "AT", "plan": "free"}])
    t.feed("clicks", "at | user | page\n09:59:00 | ann | /home\n10:00:00 | bob | /home")
    t.feed("profiles", [{"user": "ann", "name": "Ann", "country": "AT", "plan": "pro"}])
    t.feed("clicks", "at | user | page\n10:01:00 | ann | /shop").run()
    assert met(t) == [("ann", "/home", "free"), ("ann", "/shop", "pro"), ("bob", "/home", None)]


def test_what_changes_later_leaves_the_clicks_before_it_as_they_were(drive):
    t = drive(app)
    t.feed("clicks", "at | user | page\n10:00:00 | ann | /early").run()
    t.feed("profiles", [{"user": "ann", "name": "Ann", "country": "AT", "plan": "free"}]).run()
    # A click that happened before the profile came, and arrives after it.
    t.feed("clicks", "at | user | page\n09:00:00 | ann | /late").run()
    t.delete("profiles", "ann").run()
    t.feed("clicks", "at | user | page\n10:02:00 | ann | /gone").run()
    assert met(t) == [("ann", "/early", None), ("ann", "/gone", None), ("ann", "/late", "free")]
    assert all(row["name"] == ("Ann" if row["plan"] else None) for row in t.rows("clicks-with-profiles"))


def met(t):
    return sorted((row["user"], row["page"], row["plan"]) for row in t.rows("clicks-with-profiles"))
