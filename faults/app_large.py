"""Copies of which some are too large for their topic."""

import headrace as hr

app = hr.App("faults")
events = app.stream("faults-events", schema="id long, key string, amount int, pad int")
copies = events.where("amount >= 0").select("id", "key", "amount * 2 as twice", "repeat('x', pad) as padding")
copies.key_by("key").to("faults-copies", name="copies")
events.key_by("key").agg(n="count(*)", total="sum(amount)").to("faults-sums", name="sums")
