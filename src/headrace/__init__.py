"""Headrace: streams and tables for Python, on Spark."""

from typing import TYPE_CHECKING

from headrace import formats, sinks, sources
from headrace.app import App
from headrace.clocks import device_clock, event_time, log_append_time, processing_time, record_time
from headrace.errors import HeadraceError
from headrace.results import read
from headrace.runtime.handle import Run
from headrace.secrets import secret
from headrace.stream import Stream
from headrace.table import Table
from headrace.udf import udf
from headrace.version import __version__
from headrace.windows import calendar, cumulating, every, hopping, session, sliding, tumbling

__all__ = [
    "App",
    "HeadraceError",
    "Run",
    "Stream",
    "Table",
    "__version__",
    "calendar",
    "cumulating",
    "device_clock",
    "event_time",
    "every",
    "formats",
    "hopping",
    "log_append_time",
    "processing_time",
    "read",
    "record_time",
    "secret",
    "session",
    "sinks",
    "sliding",
    "sources",
    "tumbling",
    "udf",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from headrace.plan import habits, spelling

        raise spelling.missing("headrace", name, __all__, habits.MODULE)
