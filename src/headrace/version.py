"""The one place where the version stands; the kernel jar carries the same text."""

__version__ = "0.1.0"
