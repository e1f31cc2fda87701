"""Checkpoint files whose checksum is not theirs: accepted when they are whole, and only then."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

import pytest

from headrace.errors import StateError
from headrace.runtime.checkpoints import mend


def checksum(data: bytes) -> bytes:
    sums = (struct.pack(">I", zlib.crc32(data[at : at + 512])) for at in range(0, len(data), 512))
    return b"crc\0" + struct.pack(">I", 512) + b"".join(sums)


def write(file: Path, text: str, of: str | None = None) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.with_name(f".{file.name}.crc").write_bytes(checksum((text if of is None else of).encode()))


def offsets(at: int) -> str:
    return f'v1\n{{"batchWatermarkMs":0,"conf":{{}}}}\n{json.dumps({"in": {"0": at, "1": 3}})}\n-'


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    for batch, at in enumerate((10, 20, 30)):
        write(tmp_path / "offsets" / str(batch), offsets(at))
        write(tmp_path / "commits" / str(batch), 'v1\n{"nextBatchWatermarkMs":0}')
    write(tmp_path / "metadata", '{"id":"c0ffee"}')
    return tmp_path


def test_a_sound_checkpoint_is_left_alone(checkpoint: Path) -> None:
    before = sorted(checkpoint.rglob("*"))
    assert mend.mend(checkpoint) == []
    assert sorted(checkpoint.rglob("*")) == before


def test_files_that_are_whole_are_accepted_whatever_their_checksum_says(checkpoint: Path) -> None:
    write(checkpoint / "offsets" / "1", offsets(20), of=offsets(25))
    write(checkpoint / "commits" / "2", 'v1\n{"nextBatchWatermarkMs":0}', of='v1\n{"nextBatchWatermarkMs":7}')
    write(checkpoint / "metadata", '{"id":"c0ffee"}', of='{"id":"other"}')
    assert mend.mend(checkpoint) == ["offsets/1", "commits/2", "metadata"]
    assert not (checkpoint / "offsets" / ".1.crc").exists()
    assert (checkpoint / "offsets" / ".0.crc").exists()
    assert mend.mend(checkpoint) == []


@pytest.mark.parametrize(
    "text", ["", "v1", "v1\n", offsets(20)[:-12], "\0" * 40, offsets(20).replace("v1", "x1"), offsets(9), offsets(31)]
)
def test_a_file_that_is_not_whole_or_does_not_fit_its_neighbours_is_an_error_and_nothing_is_changed(
    checkpoint: Path, text: str
) -> None:
    write(checkpoint / "offsets" / "1", text, of=offsets(20))
    write(checkpoint / "commits" / "0", 'v1\n{"nextBatchWatermarkMs":0}', of="another")
    with pytest.raises(StateError, match=r"offsets/1 is damaged.*(\n.*)*fix: bring the checkpoint back from a copy"):
        mend.mend(checkpoint)
    assert (checkpoint / "commits" / ".0.crc").exists()


def test_a_long_file_has_a_checksum_for_each_half_kilobyte(checkpoint: Path) -> None:
    long = "v1\n" + json.dumps({"conf": {"x": "y" * 2000}}) + '\n{"in":{"0":40,"1":3}}\n-'
    write(checkpoint / "offsets" / "3", long)
    assert mend.mend(checkpoint) == []
    file = checkpoint / "offsets" / "3"
    file.write_text(long.replace("y" * 2000, "y" * 1999 + "z"))
    assert not mend.sound(file)
