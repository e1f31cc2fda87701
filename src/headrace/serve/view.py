"""A view: what one topic holds, and how it is kept. A value; applications publish theirs to a topic, as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from headrace.errors import ConfigError

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Marks:
    """Where the query that writes the topic notes, with each batch, that it is written."""

    topic: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    name: str
    topic: str
    kind: Literal["table", "stream"]
    """The newest row of each key, or the newest events."""
    key: tuple[str, ...] = ()
    """The columns of a table's key, in their order. A stream has none: its events are known by their places in the log."""
    columns: tuple[tuple[str, str], ...] = ()
    """Names and Spark's types, as far as they are known."""
    history: int = 0
    """How long earlier versions of rows are kept, in microseconds."""
    keep: int | None = None
    """How long a row is kept after it was written, in microseconds; None: as long as it is in the table."""
    marks: Marks | None = None
    """None for a topic whose writer tells nobody where its batches end: each record is visible as it comes."""
    charts: tuple[dict[str, Any], ...] = ()
    role: str | None = None
    """Who may read it besides operators: a role of the server; None for everybody with a token."""
    app: str | None = None

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the key's columns; "string" where they are not known."""
        known = dict(self.columns)
        return tuple(known.get(column, "string") for column in self.key)

    def json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, separators=(",", ":"))

    @staticmethod
    def parse(text: str | bytes) -> View:
        found: dict[str, Any] = json.loads(text)
        if found.pop("format", None) != FORMAT:
            raise ConfigError(
                "the view is described by another version of Headrace", fix="run the server and the application in one version"
            )
        given: dict[str, Any] = {field.name: found[field.name] for field in fields(View) if field.name in found}
        marks: dict[str, str] | None = given.get("marks")
        given |= {
            "key": tuple(given["key"]),
            "columns": tuple((name, kind) for name, kind in given["columns"]),
            "charts": tuple(given["charts"]),
            "marks": None if marks is None else Marks(**marks),
        }
        return View(**given)
