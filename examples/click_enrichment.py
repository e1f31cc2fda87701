"""Clicks with the profile of their user. A profile that changes counts from the moment it arrives.

headrace run examples/click_enrichment.py
"""

import headrace as hr

app = hr.App("click-enrichment")

profiles = app.table("profiles", key="user", schema="user string, name string, country string, plan string")
clicks = app.stream("clicks", schema="user string, page string, at timestamp", time="at", bad="skip")

# A click of a user without a profile comes too: its name, country and plan are null.
clicks.key_by("user").join(profiles, on="user", how="left").to("clicks-with-profiles")

if __name__ == "__main__":
    app.run()
