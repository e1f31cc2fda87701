"""Files of a checkpoint that are whole though their checksum is another file's.

Two runs over one checkpoint could leave such pairs: both wrote the same file, one won, and the checksum was the other's.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any, cast

from headrace.errors import StateError

_LOGS = ("offsets", "commits")
_HEAD = struct.Struct(">4sI")


def mend(checkpoint: Path) -> list[str]:
    """Removes the checksums that are not of their files, if the files are whole; returns what was accepted.

    A file that is not whole is an error: nothing but a copy brings it back.
    """
    files = [file for log in _LOGS for file in sorted((checkpoint / log).glob("[0-9]*")) if file.name.isdigit()]
    files += [file for file in (checkpoint / "metadata",) if file.is_file()]
    wrong = [file for file in files if not sound(file)]
    for file in wrong:
        if not _whole(file):
            raise StateError(
                f"{file} is damaged: it is not whole, and its checksum says so too", fix="bring the checkpoint back from a copy"
            )
    for file in wrong:
        _checksum(file).unlink()
    return [str(file.relative_to(checkpoint)) for file in wrong]


def sound(file: Path) -> bool:
    """Whether it has the checksum that Hadoop wrote beside it; one without is taken as it is."""
    try:
        noted = _checksum(file).read_bytes()
    except FileNotFoundError:
        return True
    if len(noted) < _HEAD.size:
        return False
    magic, chunk = _HEAD.unpack_from(noted)
    if magic != b"crc\0" or chunk == 0:
        return False
    data = file.read_bytes()
    sums = (zlib.crc32(data[at : at + chunk]) for at in range(0, len(data), chunk))
    return b"".join(struct.pack(">I", one) for one in sums) == noted[_HEAD.size :]


def _checksum(file: Path) -> Path:
    return file.with_name(f".{file.name}.crc")


def _whole(file: Path) -> bool:
    """Every line of it is what Spark writes, and its offsets lie between those of its neighbours."""
    lines = _lines(file)
    if lines is None:
        return False
    if file.parent.name != "offsets":
        return True
    for step, follows in ((-1, False), (1, True)):
        other = file.with_name(str(int(file.name) + step))
        neighbours = _lines(other) if other.is_file() and sound(other) else None
        if neighbours is not None and not _ordered(*((lines, neighbours) if follows else (neighbours, lines))):
            return False
    return True


def _lines(file: Path) -> list[Any] | None:
    """The values of its lines; None if one is not whole."""
    try:
        text = file.read_text().rstrip("\n").split("\n")
        if file.name != "metadata":
            version, *text = text
            if not re.fullmatch(r"v\d+", version):
                return None
        return [None if line == "-" else json.loads(line) for line in text] or None
    except (ValueError, OSError):
        return None


def _ordered(before: list[Any], after: list[Any]) -> bool:
    """The first line is about the batch; the others are the offsets of a source, by topic and partition."""
    return all(
        later.get(place, offset) >= offset
        for one, other in zip(before[1:], after[1:], strict=False)
        for later in [_places(other)]
        for place, offset in _places(one).items()
    )


def _places(offsets: Any) -> dict[tuple[str, str], int]:
    """Of a topic's offsets; a clock has others, which say nothing."""
    found: dict[tuple[str, str], int] = {}
    topics = cast("dict[str, Any]", offsets if isinstance(offsets, dict) else {})
    for topic, partitions in topics.items():
        if isinstance(partitions, dict):
            for partition, offset in cast("dict[str, Any]", partitions).items():
                if isinstance(offset, int):
                    found[topic, partition] = offset
    return found
