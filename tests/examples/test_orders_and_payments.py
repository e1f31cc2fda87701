from examples.orders_and_payments import app


def test_orders_come_with_their_payment_or_after_a_quarter_of_an_hour_without(drive):
    t = drive(app)
    t.feed(
        "orders",
        """
        at       | order_id | amount
        10:00:00 | 1        | 20.0
        10:01:00 | 2        | 35.5
        10:02:00 | 3        | 5.0
        """,
    )
    t.feed(
        "payments",
        """
        at       | order_id | method
        10:03:30 | 1        | card
        10:30:00 | 3        | cash
        """,
    )
    t.run()
    assert [(row["order_id"], row["seconds"]) for row in t.rows("paid-orders")] == [(1, 210)]
    assert t.rows("unpaid-orders") == []
    t.advance("1 hour")
    assert sorted(row["order_id"] for row in t.rows("unpaid-orders")) == [2, 3]
    assert len(t.rows("paid-orders")) == 1
