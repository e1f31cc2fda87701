"""Devices that have not reported for ten minutes, and since when.

headrace run examples/silent_devices.py
"""

import headrace as hr

app = hr.App("silent-devices")

# If all devices fall silent, no reading moves the time: after 15 minutes without any, the open sessions close.
readings = app.stream(
    "readings",
    schema="device string, battery double, at timestamp",
    time="at",
    lateness="1 minute",
    close_after="15 minutes",
)
devices = app.table("devices", key="device", schema="device string, site string, owner string")

# A session ends ten minutes after its last reading, which is when the device counts as silent.
silences = (
    readings.key_by("device").window(hr.session(gap="10 minutes")).agg(last_seen="max(at)", battery="max_by(battery, at)")
)
# Null where nobody has registered the device.
silences.key_by("device").join(devices, on="device", how="left").select("device", "last_seen", "battery", "site", "owner").to(
    "silent-devices"
)

if __name__ == "__main__":
    app.run()
