"""The same to a database: copies are added, sums replaced."""

import os
from functools import partial

import headrace as hr

app = hr.App("faults")
events = app.stream("faults-events", schema="id long, key string, amount int")
place = os.environ["FAULTS_DATABASE"]

database = partial(hr.sinks.postgres if place.startswith("postgres") else hr.sinks.sqlite, place)
events.where("amount >= 0").select("id", "key", "amount * 2 as twice").to(database(table="copies"), name="copies")
sums = events.key_by("key").agg(n="count(*)", total="sum(amount)")
sums.to(database(table="sums"), name="sums")
