"""Payments that don't look like their card's owner: far more money than usual, or two distant places within ten minutes.

headrace run examples/fraud_detection.py
"""

import headrace as hr

app = hr.App("fraud-detection")

cards = app.table("cards", key="card", schema="card string, owner string, usual double")
payments = app.stream(
    "payments",
    schema="id string, card string, amount double, lat double, lon double, at timestamp",
    time="at",
    lateness="5 minutes",
).dedupe("id", within="1 hour")

# Compared with what the card's owner usually pays, as known when the payment arrives.
large = payments.key_by("card").join(cards, on="card").where("amount > 10 * usual")
large.select("card", "at", "'far above the usual amount' as reason").to("large-payments")

# The last ten minutes of each card, at every payment. Rows for payments that leave the window are of no interest here.
moves = (
    payments.key_by("card")
    .window(hr.sliding("10 minutes"))
    .agg(newest="max(at)", north="max(lat)", south="min(lat)", east="max(lon)", west="min(lon)")
    .where("newest = window_end and (north - south > 2 or east - west > 2)")
)
moves.select("card", "newest as at", "'distant places within minutes' as reason").to("distant-payments")

if __name__ == "__main__":
    app.run()
