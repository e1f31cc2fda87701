"""Comma-separated values, in files."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.plan.format import Format


@dataclass(frozen=True, kw_only=True)
class Csv(Format):
    """The first line of a file names its columns, so records in a topic can't be CSV. See `hr.sources.files`."""

    delimiter: str = ","

    @property
    def name(self) -> str:
        return "csv"
