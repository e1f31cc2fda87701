"""Where records come from, one module per system. A topic's name is short for `kafka(name)`."""

from typing import TYPE_CHECKING

from headrace.sources.custom import Reader, Record, custom
from headrace.sources.files import files
from headrace.sources.kafka import kafka

__all__ = ["Reader", "Record", "custom", "files", "kafka"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from headrace.plan import habits, spelling

        raise spelling.missing("hr.sources", name, __all__, habits.SOURCES)
