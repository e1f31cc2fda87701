"""Clicks per visit: a visit is over when its user has not clicked for 30 minutes.

headrace run examples/click_sessions.py
"""

import headrace as hr

app = hr.App("click-sessions")

clicks = app.stream("clicks", schema="user string, page string, at timestamp", time="at", lateness="1 minute", bad="skip")
visits = (
    clicks.key_by("user")
    .window(hr.session(gap="30 minutes"))
    .agg(clicks="count(*)", pages="array_distinct(collect_list(page))", entered="min_by(page, at)", left="max_by(page, at)")
)
visits.to("visits")

if __name__ == "__main__":
    app.run()
