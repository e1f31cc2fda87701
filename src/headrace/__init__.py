"""Headrace: streams and tables for Python, on Spark."""

from headrace.app import App
from headrace.errors import HeadraceError
from headrace.keyed import KeyedStream
from headrace.stream import Stream
from headrace.table import Table
from headrace.udf import udf
from headrace.version import __version__
from headrace.windows import hopping, session, tumbling

__all__ = ["App", "HeadraceError", "KeyedStream", "Stream", "Table", "__version__", "hopping", "session", "tumbling", "udf"]
