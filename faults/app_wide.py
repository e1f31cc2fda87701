"""Copies and sums without a Python function; the copies carry all that the events have."""

import headrace as hr

app = hr.App("faults")
events = app.stream("faults-events", schema="id long, key string, amount int, fill string")
events.where("amount >= 0").select("id", "key", "amount * 2 as twice", "fill").key_by("key").to("faults-copies", name="copies")
events.key_by("key").agg(n="count(*)", total="sum(amount)").to("faults-sums", name="sums")
