"""Records that are JSON objects, in UTF-8 (docs/formats.md)."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.plan import spelling
from headrace.plan.format import Format


@dataclass(frozen=True, kw_only=True)
class Json(Format):
    """See `json`."""

    @property
    def name(self) -> str:
        return "json"


@spelling.arguments
def json() -> Json:
    """A JSON object for each record: its fields are the columns. As a key: an object of the key's columns, even of one."""
    return Json()
