from examples.click_sessions import app
from headrace.testing import at


def test_a_visit_ends_half_an_hour_after_its_last_click(drive):
    t = drive(app)
    t.feed(
        "clicks",
        """
        at       | user | page
        10:00:00 | ann  | /home
        10:05:00 | bob  | /shop
        10:20:00 | ann  | /cart
        11:00:00 | ann  | /home
        """,
    )
    t.feed("clicks", [b"not json"]).advance("2 hours")
    visits = {(row["user"], row["window_start"]): row for row in t.rows("visits")}
    assert {key: row["clicks"] for key, row in visits.items()} == {
        ("ann", at("10:00:00")): 2,
        ("bob", at("10:05:00")): 1,
        ("ann", at("11:00:00")): 1,
    }
    first = visits["ann", at("10:00:00")]
    assert (first["entered"], first["left"], first["window_end"]) == ("/home", "/cart", at("10:50:00"))
    assert t.total("visits").bad == 1
