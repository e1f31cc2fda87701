"""Headrace beside plain PySpark on the same topic, in the same run: `make bench`."""
