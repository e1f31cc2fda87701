"""Encodes a source's record for the producer, or says why it can't be one."""

from __future__ import annotations

import json
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from headrace.errors import RunError
from headrace.sources.custom import Record

OVERHEAD = 128
"""The overhead of a batch with one record, rounded up."""


class BadYield(RunError):
    """A source yielded something that is not a record."""


def value(given: object) -> bytes | None:
    if given is None or type(given) is bytes:
        return given
    if isinstance(given, str):
        return _utf8(given, "a record's text")
    if isinstance(given, dict):
        try:
            return _JSON(given).encode()
        except (TypeError, ValueError, RecursionError) as e:
            raise BadYield(f"the source yielded a dict that is not JSON: {e}") from e
    if isinstance(given, bytes | bytearray):
        return bytes(given)
    raise BadYield(
        f"the source yielded a record whose value is of type {type(given).__name__}", fix="yield bytes, str, dict or None"
    )


def key(given: object) -> bytes | None:
    if given is None or type(given) is bytes:
        return given
    if isinstance(given, str):
        return _utf8(given, "a record's key")
    raise BadYield(f"the source yielded a record whose key is of type {type(given).__name__}", fix="yield bytes, str or None")


def millis(given: object) -> int:
    """Milliseconds since 1970; 0 for none."""
    match given:
        case None:
            return 0
        case datetime() if given.tzinfo is not None:
            found = round(given.timestamp() * 1000)
        case bool() | datetime():
            raise BadYield(f"the source yielded the timestamp {given!r}", fix=_TIMES)
        case int():
            found = given
        case _:
            raise BadYield(f"the source yielded the timestamp {given!r}", fix=_TIMES)
    if not 0 < found < 1 << 62:
        raise BadYield(f"the source yielded the timestamp {given!r}", fix=_TIMES)
    return found


def headers(given: Any) -> list[tuple[str, bytes | None]]:
    try:
        return [(_text(name), None if content is None else _bytes(content)) for name, content in map(_pair, given)]
    except (TypeError, ValueError) as e:
        raise BadYield(f"the source yielded the headers {given!r}", fix='write pairs: headers=[("name", b"value")]') from e


def headers_size(headers: list[tuple[str, bytes | None]]) -> int:
    return sum(len(name) * 4 + len(content or b"") + 10 for name, content in headers)


def checked(item: object) -> Record:
    if not isinstance(item, Record):
        raise BadYield(
            f"the source yielded a {type(item).__name__}, not a record",
            fix="yield hr.sources.Record(value=…, position=…), or None while there is nothing new",
        )
    return item


_TIMES = "yield a datetime with a time zone, or milliseconds since 1970"


def _utf8(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as e:
        raise BadYield(f"the source yielded {what} that is not Unicode: {e}", fix="yield bytes") from e


def _pair(given: Any) -> Any:
    """Not a text, whose letters would be taken for a name and a content: a dict of headers yields such."""
    if isinstance(given, str):
        raise TypeError(given)
    return given


def _text(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(name)
    # The producer takes it for UTF-8 that ends at the first NUL.
    if "\0" in name:
        raise ValueError(name)
    name.encode()
    return name


def _bytes(content: object) -> bytes:
    if isinstance(content, str):
        return content.encode()
    if not isinstance(content, bytes):
        raise TypeError(content)
    return content


def _plain(given: object) -> str:
    match given:
        case datetime() | date() | time():
            return given.isoformat()
        case Decimal() | UUID():
            return str(given)
        case _:
            raise TypeError(f"it contains a {type(given).__name__}")


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain).encode
