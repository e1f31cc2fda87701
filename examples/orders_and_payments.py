"""Orders with their payments; an order that nobody pays within 15 minutes comes without one.

headrace run examples/orders_and_payments.py
"""

import headrace as hr

app = hr.App("orders-and-payments")

orders = app.stream("orders", schema="order_id long, amount double, at timestamp", time="at", lateness="1 minute")
payments = app.stream("payments", schema="order_id long, method string, at timestamp", time="at", lateness="1 minute")

settled = orders.select("order_id", "amount", ordered="at").join(
    payments.select("order_id", "method", paid="at"),
    on="order_id",
    within="15 minutes",
    how="left",
)
paid, unpaid = settled.split("method is not null")
paid.with_columns(seconds="timestampdiff(SECOND, ordered, paid)").to("paid-orders")
unpaid.select("order_id", "amount", "ordered").to("unpaid-orders")

if __name__ == "__main__":
    app.run()
