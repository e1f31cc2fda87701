"""Breaks Headrace on purpose and looks whether its results are still right: `make faults`."""
