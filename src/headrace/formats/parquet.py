"""Parquet, in files."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.plan.format import Format


@dataclass(frozen=True, kw_only=True)
class Parquet(Format):
    """Columns with types of their own. See `hr.sources.files`."""

    @property
    def name(self) -> str:
        return "parquet"
