"""Format: how the bytes of records become rows, and rows become the bytes of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.plan.sql.schema import Fields


@dataclass(frozen=True, kw_only=True)
class Format:
    """The values that `hr.formats` makes. What they do to bytes is in spark/formats, one file each."""

    @property
    def name(self) -> str:
        """As it is drawn, and as users write it for short."""
        raise NotImplementedError

    @property
    def fields(self) -> Fields | None:
        """The columns of each record, where the format itself says them; None where a schema does."""
        return None

    def unwritable(self, columns: Sequence[str], key: Sequence[str]) -> str | None:
        """Why rows with these columns can't be written this way; None if they can."""
        return None


@dataclass(frozen=True, kw_only=True)
class OneColumn(Format):
    """A record is one value, the column `value`; the columns of the key go into the record's key."""

    def unwritable(self, columns: Sequence[str], key: Sequence[str]) -> str | None:
        if "value" in columns and all(name in ("value", *key) for name in columns):
            return None
        return f"format={self.name!r} writes one column, `value`, and this has {', '.join(columns)}"
