"""The same to a database: copies are added, sums replaced."""

import os

import headrace as hr

app = hr.App("faults")
events = app.stream("faults-events", schema="id long, key string, amount int")
url = os.environ["FAULTS_POSTGRES"]
events.where("amount >= 0").select("id", "key", "amount * 2 as twice").to(hr.sinks.postgres(url, table="copies"), name="copies")
sums = events.key_by("key").agg(n="count(*)", total="sum(amount)")
sums.to(hr.sinks.postgres(url, table="sums"), name="sums")
