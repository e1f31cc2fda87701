"""Records that are text, in UTF-8."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.plan import spelling
from headrace.plan.format import OneColumn
from headrace.plan.sql.schema import Fields


@dataclass(frozen=True, kw_only=True)
class Text(OneColumn):
    """See `text`."""

    @property
    def name(self) -> str:
        return "text"

    @property
    def fields(self) -> Fields:
        return (("value", "string"),)


@spelling.arguments
def text() -> Text:
    """The record as it is, in the column `value`. As a key: the value of its one column, or JSON if it has several."""
    return Text()
