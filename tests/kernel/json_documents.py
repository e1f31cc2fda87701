"""Random JSON documents for one schema, whole and broken, and what Python's json makes of them."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

SCHEMA = (
    "s string, n bigint, d double, b boolean, o struct<s:string,n:bigint,inner:struct<d:double,tags:array<string>>>, "
    "xs array<bigint>, m map<string,double>, os array<struct<n:bigint,`naïve key`:string>>"
)
TYPES: dict[str, Any] = {
    "s": "string",
    "n": "long",
    "d": "double",
    "b": "boolean",
    "o": {"s": "string", "n": "long", "inner": {"d": "double", "tags": ["string"]}},
    "xs": ["long"],
    "m": ("map", "double"),
    "os": [{"n": "long", "naïve key": "string"}],
}
WORDS = [
    "",
    "a",
    "SYM0001",
    "naïve",
    "日本語",
    "\U0001f600",
    'quo"te',
    "back\\slash",
    "line\nbreak",
    "\x7f",
    "x" * 40,
    "null",
    "{}",
]
ESCAPES = ["\\u00e9", "\\ud83d\\ude00", "\\ud800", "\\udc00x", "\\ud83d\\u0041", "\\/", "\\b\\f", "\\u0000", "\\uD834\\uDD1E"]
LONGS = ["0", "-0", "7", "-12", "1.0", "1e3", "120e-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808"]
DOUBLES = ["0.1", "-0.0", "1e999", "-1E+5", "123.45", "5e-324", "3.141592653589793238", "1e22", "1e23", "17976931348623157e292"]
SPECIALS = ["NaN", "Infinity", "-Infinity", '"NaN"', '"Infinity"', '"-Infinity"']


@dataclass
class Writer:
    """Writes documents. Tame ones stay where `from_json` and we agree."""

    rng: random.Random
    tame: bool = False

    def document(self) -> bytes:
        text = (self.space() + self.object(TYPES) + self.space()).encode()
        if self.tame or self.rng.random() < 0.45:
            return text if self.tame or self.rng.random() < 0.97 else b"\xef\xbb\xbf" + text
        for _ in range(self.rng.choice([1, 1, 1, 2, 3])):
            text = self.broken(text)
        return text

    def broken(self, text: bytes) -> bytes:
        rng = self.rng
        at = rng.randrange(len(text) + 1) if text else 0
        match rng.randrange(7):
            case 0:
                return text[:at]
            case 1:
                return text[:at] + text[at + 1 :]
            case 2:
                return text[:at] + bytes([rng.randrange(256)]) + text[at:]
            case 3:
                return (
                    text[:at]
                    + rng.choice([b",", b"}", b"]", b'"', b"\\", b"0", b".", b"e", b"-", b":", b" ", b"\x00"])
                    + text[at + 1 :]
                )
            case 4:
                other = rng.randrange(len(text) + 1)
                low, high = min(at, other), max(at, other)
                return text[:low] + text[high : high + 1] + text[low + 1 : high] + text[low : low + 1] + text[high + 1 :]
            case 5:
                bad = rng.choice(
                    [b"\xc0\xaf", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xe2\x82", b"\xff", b"\xf4\x90\x80\x80"]
                )
                return text[:at] + bad + text[at:]
            case _:
                commas = [i for i, byte in enumerate(text) if byte == ord(",")] or [at]
                comma = rng.choice(commas)
                return text[:comma] + b"," + text[comma:]

    def space(self) -> str:
        return self.rng.choice(["", "", "", "", " ", "\n\t ", "\r\n"])

    def string(self, text: str | None = None) -> str:
        word = self.rng.choice(WORDS) if text is None else text
        out = json.dumps(word, ensure_ascii=self.rng.random() < 0.3)
        if text is None and not self.tame and self.rng.random() < 0.2:
            out = out[:-1] + self.rng.choice(ESCAPES) + '"'
        return out

    def name(self, name: str) -> str:
        if self.rng.random() < 0.05 and not self.tame:
            return '"' + "".join(f"\\u{ord(ch):04x}" for ch in name) + '"'
        return self.string(name)

    def object(self, fields: dict[str, Any]) -> str:
        names = [name for name in fields if self.rng.random() < 0.8]
        if self.rng.random() < 0.3:
            self.rng.shuffle(names)
        if names and not self.tame and self.rng.random() < 0.1:
            names.append(self.rng.choice(names))
        members = [self.member(self.name(name), self.value(fields[name])) for name in names]
        if self.rng.random() < 0.2:
            members.insert(self.rng.randrange(len(members) + 1), self.member('"extra"', self.anything(3)))
        return "{" + self.space() + ",".join(members) + "}"

    def member(self, name: str, value: str) -> str:
        return self.space() + name + self.space() + ":" + self.space() + value + self.space()

    def anything(self, depth: int) -> str:
        kind = self.rng.randrange(6 if depth else 4)
        if kind < 4:
            return [self.string(), self.rng.choice(DOUBLES), self.rng.choice(["true", "false"]), "null"][kind]
        items = [self.anything(depth - 1) for _ in range(self.rng.randrange(3))]
        if kind == 4:
            return "[" + self.space() + ",".join(items) + "]"
        return "{" + ",".join(f"{self.string()}:{self.space()}{item}" for item in items) + "}"

    def value(self, kind: Any) -> str:
        rng = self.rng
        if rng.random() < 0.08:
            return "null"
        if not self.tame and rng.random() < 0.015:
            return self.anything(2)
        match kind:
            case "string":
                return self.string()
            case "long":
                return str(rng.randrange(-(10**6), 10**12)) if self.tame or rng.random() < 0.7 else rng.choice(LONGS[:9])
            case "double":
                if rng.random() < 0.6:
                    return repr(rng.choice([rng.random() * 10 ** rng.randrange(-5, 15), round(rng.random() * 1000, 2)]))
                return rng.choice(DOUBLES) if self.tame or rng.random() < 0.8 else rng.choice(SPECIALS)
            case "boolean":
                return rng.choice(["true", "false"])
            case [element]:
                return "[" + ",".join(self.space() + self.value(element) + self.space() for _ in range(rng.randrange(4))) + "]"
            case ("map", element):
                words = rng.sample(WORDS, rng.randrange(4))
                if words and not self.tame and rng.random() < 0.2:
                    words.append(words[0])
                return "{" + ",".join(self.member(self.string(word), self.value(element)) for word in words) + "}"
            case _:
                return self.object(kind)


class Bad(Exception):
    """What Python refuses, or what is not of its field's type."""


@dataclass(frozen=True)
class Number:
    text: str


@dataclass(frozen=True)
class Members:
    pairs: list[tuple[str, Any]]


@dataclass(frozen=True)
class Verbatim:
    """The text of a value, whatever its whitespace."""

    value: Any


def expected(document: bytes) -> dict[str, Any] | None:
    """The row Python's json finds in a document; None when there is none."""
    try:
        text = document.removeprefix(b"\xef\xbb\xbf").decode()
        hooks: dict[str, Any] = {"parse_float": Number, "parse_int": Number, "parse_constant": Number}
        value = json.loads(text, object_pairs_hook=Members, **hooks)
        if not isinstance(value, Members):
            raise Bad
        return typed(value, TYPES)
    except (ValueError, Bad):
        return None


def typed(value: Any, kind: Any) -> Any:
    if value is None:
        return None
    match kind, value:
        case "string", str():
            return whole(value)
        case "string", bool():
            return "true" if value else "false"
        case "string", Number(text) if text not in SPECIALS:
            return text
        case "string", list() | Members():
            return Verbatim(plain(value))
        case "long", Number(text) if text not in SPECIALS:
            return to_long(text)
        case "double", Number(text):
            return float(text)
        case "double", str() if json.dumps(value) in SPECIALS:
            return float(value)
        case "boolean", bool():
            return value
        case [element], list():
            return [typed(item, element) for item in value]
        case ("map", element), Members(pairs):
            return {whole(name): typed(item, element) for name, item in pairs}
        case dict(), Members(pairs):
            row = dict.fromkeys(kind)
            row.update({name: typed(item, kind[name]) for name, item in pairs if name in kind})
            return row
    raise Bad


def to_long(text: str) -> int:
    mantissa, _, power = text.lower().partition("e")
    if power and abs(int(power)) > 5000 and float(mantissa) != 0:
        raise Bad
    number = Fraction(mantissa) if power and float(mantissa) == 0 else Fraction(text)
    if number.denominator != 1 or not -(2**63) <= number < 2**63:
        raise Bad
    return int(number)


def whole(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def plain(value: Any) -> Any:
    match value:
        case Members(pairs):
            return {name: plain(item) for name, item in pairs}
        case list():
            return [plain(item) for item in value]
        case Number(text):
            return repr(float(text))
        case _:
            return value


def same(found: Any, wanted: Any) -> bool:
    match wanted:
        case Verbatim(value):
            hooks: dict[str, Any] = {"parse_float": Number, "parse_int": Number, "parse_constant": Number}
            return plain(json.loads(found, object_pairs_hook=Members, **hooks)) == value
        case float():
            return isinstance(found, float) and (math.isnan(found) if math.isnan(wanted) else repr(found) == repr(wanted))
        case dict():
            return isinstance(found, dict) and found.keys() == wanted.keys() and all(same(found[k], wanted[k]) for k in wanted)
        case list():
            return isinstance(found, list) and len(found) == len(wanted) and all(map(same, found, wanted))
        case _:
            return type(found) is type(wanted) and found == wanted
