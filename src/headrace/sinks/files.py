"""Rows in files of a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from headrace.errors import ConfigError, PlanError, Where
from headrace.plan import checks, spelling
from headrace.plan.callsite import call_site
from headrace.plan.nodes import Node
from headrace.plan.sink import Output, Sink, SparkWriter

Format = Literal["parquet", "json", "csv", "orc"]


@dataclass(frozen=True, kw_only=True)
class Files(Sink):
    """See `files`."""

    path: str
    format: Format
    partition_by: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"files.{os.path.basename(self.path.rstrip('/')) or 'root'}"

    @property
    def written_by(self) -> SparkWriter:
        return SparkWriter(self.format, self.path, self.partition_by)

    def reset(self, output: Output, node: Node) -> str:
        if output == "delete":
            return f"the files in {self.path} are deleted"
        raise ConfigError(
            f"files can't be kept: {self.path} notes which batches it has, and would leave out those of a new beginning",
            fix="--output delete; or write to another folder",
        )

    @property
    def alone(self) -> bool:
        return True

    def check(self, node: Node, where: Where) -> None:
        if node.kind == "table":
            raise PlanError(
                "the rows of a table change, and files can't be updated",
                where=where,
                fix='write its changes: table.changes().to(…), or windows with emit="final"',
            )
        checks.exist(node, self.partition_by, where)


@spelling.arguments
def files(path: str | os.PathLike[str], *, format: Format = "parquet", partition_by: str | Sequence[str] = ()) -> Files:
    """Writes rows to files in a folder, local or at a URL that Spark knows: `files("data/trades", partition_by="day")`.

    Spark writes the files, and lists in `_spark_metadata` those that count: Spark reads each row once.
    """
    where = call_site().where
    checks.one_of("format", format, ("parquet", "json", "csv", "orc"), where)
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or not text.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(f"files() needs a folder, not {path!r}", where=where, fix='write files("data/trades")')
    columns = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
    place = text if "://" in text else os.path.abspath(os.path.expanduser(text))
    return Files(path=place, format=format, partition_by=columns)
