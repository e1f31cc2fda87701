"""Comma-separated values, in files."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.plan.format import Format


@dataclass(frozen=True, kw_only=True)
class Csv(Format):
    """The first record of a file names its columns: records alone, in a topic, are no CSV. See `hr.sources.files`."""

    delimiter: str = ","

    @property
    def name(self) -> str:
        return "csv"
