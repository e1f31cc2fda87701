"""Files of a folder."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote, unquote

from headrace.errors import PlanError, Where
from headrace.formats.csv import Csv
from headrace.formats.json import Json
from headrace.formats.parquet import Parquet
from headrace.plan import checks, spelling
from headrace.plan.callsite import call_site
from headrace.plan.format import Format
from headrace.plan.nodes import Read
from headrace.plan.source import Source
from headrace.plan.sql import schema

Kind = Literal["json", "csv", "parquet"]
_MAGIC = re.compile(r"[*?[{]")
"""What makes a path a pattern, to Hadoop."""


@dataclass(frozen=True, kw_only=True)
class Files(Source):
    """See `files`."""

    folder: str
    """Absolute, or a URL."""
    names: str | None = None
    """Only of files whose names match, `*.csv`."""
    records: Format
    given: str = field(compare=False)
    """The path as the user wrote it."""

    @property
    def label(self) -> str:
        return self.given

    @property
    def noun(self) -> str:
        return "files"

    @property
    def title(self) -> str:
        return f"the files {self.given!r}"

    @property
    def identity(self) -> str:
        return f"the files {self.folder}{'' if self.names is None else f'/{self.names}'}"

    @property
    def places(self) -> str:
        # The second is that of the testing kit.
        return f"{self._file}|{re.escape(self.label)}"

    def place(self, topic: str, partition: int, offset: int) -> tuple[str, str]:
        file = unquote(topic.removeprefix("file://").removeprefix("file:"))
        if isinstance(self.records, Parquet):
            return f"file {file}, row {offset}", f"duckdb -c \"from '{file}' limit 1 offset {offset}\""
        return f"file {file}, byte {offset}", f"tail -c +{offset + 1} {shlex.quote(file)} | head -n 1"

    @property
    def _file(self) -> str:
        """What the URIs of its files match."""
        plain = "://" not in self.folder
        folder = ("file:(?://)?" if plain else "") + re.escape(_uri(self.folder.rstrip("/")))
        return f"{folder}(?:/.*)?" if self.names is None else f"{folder}/(?:.*/)?{_regex(self.names)}"

    @property
    def format(self) -> Format:
        return self.records

    @property
    def in_batches(self) -> bool:
        return True

    def check(self, read: Read) -> None:
        if read.kind == "table" and read.version is None:
            raise PlanError(
                f"the table {self.label!r} reads files, whose rows have no order",
                where=read.where,
                fix="name the column that tells which row is newer: version=…",
            )
        if isinstance(self.records, Csv):
            for name, kind in read.fields:
                if schema.plain(kind).startswith(("array", "map", "struct", "variant")):
                    raise PlanError(
                        f"{name!r} is a {kind}, and a cell of a CSV file holds a single value",
                        where=read.where,
                        fix=f"read it as a string, and parse it: from_json({name}, …)",
                    )

    @property
    def known_as(self) -> tuple[object, object]:
        return ("files", self.folder, self.names, self.records.name), "earliest"


@spelling.arguments
def files(path: str | os.PathLike[str], *, format: Kind = "json", delimiter: str = ",") -> Files:
    """Reads the files of a folder, and follows the folder: each file once, whole, the oldest first.

    `path` is a folder with everything below it, one file, or a pattern for file names: `files("data/*.csv", format="csv")`;
    local, or a URL that Spark knows. "json" is one object per line; in "csv" the first line of each file names the columns;
    "parquet" files name their columns and types. JSON and CSV files that end in .gz, .bz2 or .zst are decompressed. A file
    must be complete when it gets its name: write it as `.name`, then rename it. `_topic` is a row's file, `_offset` its place.
    """
    where = call_site().where
    checks.one_of("format", format, ("json", "csv", "parquet"), where)
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or not text.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(f"files() needs a path, not {path!r}", where=where, fix='write files("data/trades")')
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(f"delimiter={delimiter!r} must be one ASCII character", where=where, fix='write delimiter=";"')
    if delimiter != "," and format != "csv":
        raise PlanError("delimiter= is for CSV files", where=where, fix='leave it out, or write format="csv"')
    place = text if "://" in text else os.path.abspath(os.path.expanduser(text))
    folder, names = _split(place, where)
    return Files(folder=folder, names=names, records=_format(format, delimiter), given=text)


def _format(name: Kind, delimiter: str) -> Format:
    match name:
        case "json":
            return Json()
        case "csv":
            return Csv(delimiter=delimiter)
        case "parquet":
            return Parquet()


def _uri(path: str) -> str:
    """As Hadoop writes it: what is not ASCII stays as it is."""
    return "".join(each if ord(each) > 127 and not each.isspace() else quote(each, safe="-_.!~*'():@&=+$,;/") for each in path)


def _regex(names: str) -> str:
    """A regular expression for the URIs of files that match this pattern, and of a few more: brackets match any text."""
    parts = re.split(r"(\*|\?|\[.*?\]|\{.*?\})", names)
    return "".join("[^/]*" if number % 2 else re.escape(_uri(part)) for number, part in enumerate(parts))


def _split(place: str, where: Where) -> tuple[str, str | None]:
    """The folder, and a pattern for the names of its files."""
    folder, _, last = place.rpartition("/")
    if _MAGIC.search(folder):
        raise PlanError(
            f"the pattern {place!r} matches folders; only names of files can have one",
            where=where,
            fix="read the folder above, with all that is below it",
        )
    return (folder or "/", last) if _MAGIC.search(last) else (place, None)
