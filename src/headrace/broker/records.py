"""A record as people see it: one line of text or one JSON object, and back."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A record to send. No value is a tombstone: it deletes the key from a table."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Stored(Record):
    """A record in the log."""

    partition: int = 0
    offset: int = 0
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that a query could not use: where it was, what refused it, and why; from a broker also the record as it was."""

    topic: str
    partition: int | None
    """None for a row that was too large to be written: it is in no topic."""
    offset: int
    operator: str
    cause: str
    query: str = ""
    record: Record = Record(None)
    key: bytes = b""
    """The dead letter's own key, in the topic of dead letters."""
    time: datetime | None = None
    foreign: bool = False
    """Not a dead letter at all, but a record that another program wrote to the topic of dead letters."""

    @property
    def from_file(self) -> bool:
        """No name of a topic has a slash."""
        return "/" in self.topic

    @property
    def id(self) -> str:
        return f"{self.topic}/{'-' if self.partition is None else self.partition}/{self.offset}"


def to_bytes(field: object) -> bytes | None:
    """A text as it is, anything else as JSON; None stays None."""
    match field:
        case None:
            return None
        case bytes():
            return field
        case str():
            return field.encode()
        case _:
            return dumps(field).encode()


def dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def to_json(record: Stored) -> dict[str, Any]:
    """Value when it is JSON, text when it is only text, base64 when it is neither; `from_json` turns it back."""
    shown: dict[str, Any] = {"partition": record.partition, "offset": record.offset, "time": iso(record.time)}
    shown |= _text("key", record.key)
    if record.headers:
        shown["headers"] = {name: readable(value) for name, value in record.headers}
    if record.value is None:
        return shown | {"value": None}
    try:
        return shown | {"value": json.loads(record.value)}
    except ValueError:
        return shown | _text("text", record.value)


def from_json(shown: Mapping[str, Any]) -> Record:
    """What `to_json` made; where it was and when is left out."""
    given: dict[str, Any] = shown.get("headers") or {}
    headers = tuple((name, to_bytes(value)) for name, value in given.items())
    key = b64decode(shown["key_base64"]) if "key_base64" in shown else to_bytes(shown.get("key"))
    if "text_base64" in shown:
        return Record(b64decode(shown["text_base64"]), key, headers)
    if "text" in shown:
        return Record(to_bytes(shown["text"]), key, headers)
    value = shown["value"]
    return Record(None if value is None else dumps(value).encode(), key, headers)


def to_line(record: Stored) -> str:
    headers = " ".join(f"{name}={readable(value)}" for name, value in record.headers)
    parts = [str(record.partition), str(record.offset), iso(record.time) or "-", readable(record.key), readable(record.value)]
    return "  ".join([*parts, f"({headers})"] if headers else parts)


def readable(field: bytes | None) -> str:
    if field is None:
        return "-"
    try:
        return field.decode()
    except UnicodeDecodeError:
        return "0x" + field.hex()


def iso(time: datetime | None) -> str | None:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z") if time else None


def _text(name: str, field: bytes | None) -> dict[str, str | None]:
    if field is None:
        return {name: None}
    try:
        return {name: field.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": b64encode(field).decode()}
