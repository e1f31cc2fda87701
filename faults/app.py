"""The application that is broken: copies, with a Python function, and sums by key, which are state."""

import headrace as hr


@hr.udf("int")
def twice(amount: int) -> int:
    return amount * 2


app = hr.App("faults")
events = app.stream("faults-events", schema="id long, key string, amount int")
events.where("amount >= 0").select("id", "key", "twice(amount) as twice").key_by("key").to("faults-copies", name="copies")
events.key_by("key").agg(n="count(*)", total="sum(amount)").to("faults-sums", name="sums")
