"""Keys of rows as bytes in the order of their values: so ranges and prefixes of keys are ranges of bytes.

    null                     00
    boolean                  01 and 00 or 01
    whole number, date, time 01 and 8 bytes, the sign's bit turned (timestamps in microseconds, dates in days)
    float, double            01 and the 8 bytes of a double, turned so that they sort
    decimal                  01 and the sign, the number of digits before the point, the digits
    all else                 01 and the text in UTF-8, with 00 as 00 FF, and 00 00 at its end

The columns of a key stand one after the other. A key longer than `LONGEST` keeps its beginning and gets a hash for the rest:
it is found, but sorts by its beginning alone.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

LONGEST = 480
"""LMDB takes keys of 511 bytes; some are used for what is put behind a key."""
_HASH = 32
ONLY = b"\x01"
"""The key of the one row of a table without key columns; its records have none."""
_NULL, _THERE = b"\x00", b"\x01"
_END = b"\x00\x00"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE = ("tinyint", "smallint", "int", "integer", "bigint", "long", "short", "byte")


class KeyRefused(ValueError):
    """A key that is not one of this view's."""


def encode(values: Sequence[Any], types: Sequence[str]) -> bytes:
    """The key with these values, one for each column; fewer make a prefix."""
    return shortened(b"".join(_part(value, kind) for value, kind in zip(values, types, strict=False))) or ONLY


def shortened(key: bytes) -> bytes:
    if len(key) <= LONGEST:
        return key
    return key[: LONGEST - _HASH] + hashlib.sha256(key).digest()


def prefix(values: Sequence[Any], types: Sequence[str], begins: str | None = None) -> bytes:
    """What all keys with these first values begin with; `begins` is the beginning of the next one, a text."""
    found = b"".join(_part(value, kind) for value, kind in zip(values, types, strict=False))
    return found if begins is None else found + _THERE + begins.encode().replace(b"\x00", b"\x00\xff")


def after(prefix: bytes) -> bytes | None:
    """The least bytes after all that begin with this prefix; None if there are none."""
    cut = prefix.rstrip(b"\xff")
    return cut[:-1] + bytes([cut[-1] + 1]) if cut else None


def of_record(types: Sequence[str], columns: Sequence[str]) -> Callable[[bytes], bytes]:
    """Makes the key of a row from that of its record, as `to()` writes it: one column as text, several as a JSON object."""
    if not types:
        return lambda key: ONLY
    if len(types) == 1:
        kind, null = types[0], json.dumps({columns[0]: None}, separators=(",", ":"), ensure_ascii=False).encode()
        if _is_text(kind):

            def text(key: bytes) -> bytes:
                if key == null:
                    return _NULL
                if b"\x00" in key:
                    key = key.replace(b"\x00", b"\x00\xff")
                found = _THERE + key + _END
                return found if len(found) <= LONGEST else shortened(found)

            return text
        return lambda key: _NULL if key == null else shortened(_part(key.decode(), kind))

    def several(key: bytes) -> bytes:
        try:
            row: dict[str, Any] = json.loads(key)
            return encode([row.get(column) for column in columns], types)
        except (ValueError, AttributeError) as e:
            raise KeyRefused(f"the record's key is not a JSON object of {', '.join(columns)}") from e

    return several


def values_of_record(key: bytes, columns: Sequence[str]) -> list[Any]:
    """The values in a record's key, as JSON has them; of one column as text."""
    if len(columns) == 1:
        null = json.dumps({columns[0]: None}, separators=(",", ":"), ensure_ascii=False)
        text = key.decode(errors="replace")
        return [None if text == null else text]
    row: dict[str, Any] = json.loads(key)
    return [row.get(column) for column in columns]


def _is_text(kind: str) -> bool:
    base = kind.partition("(")[0].strip()
    return base not in (*_WHOLE, "float", "double", "decimal", "boolean", "date", "timestamp", "timestamp_ltz", "timestamp_ntz")


def _part(value: Any, kind: str) -> bytes:
    if value is None:
        return _NULL
    base = kind.partition("(")[0].strip().lower()
    try:
        if base in _WHOLE:
            if isinstance(value, float) and not value.is_integer():
                raise ValueError(value)
            return _THERE + _whole(int(value))
        if base in ("float", "double"):
            return _THERE + _double(float(value))
        if base == "decimal":
            return _THERE + _decimal(Decimal(str(value)))
        if base == "boolean":
            return _THERE + bytes([_boolean(value)])
        if base == "date":
            return _THERE + _whole((date.fromisoformat(str(value)) - _EPOCH.date()).days)
        if base.startswith("timestamp"):
            return _THERE + _whole(_micros(str(value)))
    except (ValueError, InvalidOperation, OverflowError, struct.error) as e:
        raise KeyRefused(f"{value!r} is no {kind}") from e
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return _THERE + text.encode().replace(b"\x00", b"\x00\xff") + _END


def _boolean(value: Any) -> bool:
    if value in (True, False):
        return bool(value)
    if str(value) not in ("true", "false"):
        raise ValueError(value)
    return str(value) == "true"


def _micros(text: str) -> int:
    time = datetime.fromisoformat(text)
    time = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    since = time - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _whole(number: int) -> bytes:
    return struct.pack(">Q", number + (1 << 63))


def _double(number: float) -> bytes:
    if math.isnan(number):
        return b"\xff" * 8
    # -0.0 equals 0.0.
    (bits,) = struct.unpack(">Q", struct.pack(">d", number + 0.0))
    return struct.pack(">Q", bits ^ 0xFFFFFFFFFFFFFFFF if bits >> 63 else bits | 1 << 63)


def _decimal(number: Decimal) -> bytes:
    if not number.is_finite():
        raise ValueError(number)
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    assert isinstance(exponent, int)
    if not text:
        return b"\x01"
    before = len(text) + exponent
    body = struct.pack(">H", before + 0x8000) + text.rstrip("0").encode() + b"\x00"
    return b"\x02" + body if not sign else b"\x00" + bytes(255 - byte for byte in body)
