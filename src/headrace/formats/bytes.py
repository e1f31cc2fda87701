"""Records as they are."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.plan import spelling
from headrace.plan.format import OneColumn
from headrace.plan.sql.schema import Fields


@dataclass(frozen=True, kw_only=True)
class Bytes(OneColumn):
    """See `bytes`."""

    @property
    def name(self) -> str:
        return "bytes"

    @property
    def fields(self) -> Fields:
        return (("value", "binary"),)


@spelling.arguments
def bytes() -> Bytes:
    """The record's bytes, in the column `value`, which is binary. As a key: the bytes of its one column."""
    return Bytes()
