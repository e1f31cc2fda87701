"""A sink written against the public interface alone, and the process that `test_kills` kills."""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

import pyarrow as pa

import headrace as hr


class Folder(hr.sinks.Writer):
    """A file for each batch. Its name appears in one step, with the rows and the mark in it: both or none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pieces: list[pa.RecordBatch] = []

    def begin(self) -> str | None:
        self.path.mkdir(exist_ok=True)
        self.pieces = []
        files = sorted(self.path.glob("*.arrow"))
        return pa.ipc.open_file(files[-1]).schema.metadata[b"mark"].decode() if files else None

    def write(self, batch: pa.RecordBatch) -> None:
        self.pieces.append(batch)

    def commit(self, mark: str) -> None:
        new, number = self.path / "new", len(list(self.path.glob("*.arrow")))
        schema = self.pieces[0].schema if self.pieces else pa.schema([])
        with pa.ipc.new_file(new, schema.with_metadata({"mark": mark})) as file:
            for piece in self.pieces:
                file.write(piece)
        os.rename(new, self.path / f"{number:06}.arrow")
        self.pieces = []

    def abort(self) -> None:
        self.pieces = []


def numbers(path: Path) -> list[int]:
    """All that is there, read without Headrace."""
    return [n for file in sorted(path.glob("*.arrow")) for n in pa.ipc.open_file(file).read_all().to_pydict().get("n", [])]


class Dying(Folder):
    """Dies by its own hand at a point of one of its batches."""

    def __init__(self, path: Path, point: str, at: int) -> None:
        super().__init__(path)
        self.point, self.at, self.batch = point, at, 1

    def here(self, point: str) -> None:
        if (self.point, self.at) == (point, self.batch):
            os.kill(os.getpid(), signal.SIGKILL)

    def write(self, batch: pa.RecordBatch) -> None:
        super().write(batch)
        self.here("written")

    def commit(self, mark: str) -> None:
        self.here("before")
        super().commit(mark)
        self.here("after")
        self.batch += 1
        print(f"committed {random.random()}", flush=True)


def main(address: str, topic: str, path: str, point: str, at: str, until: str) -> None:
    app = hr.App(f"kills-{topic}")
    app.stream(topic, schema="n int").to(hr.sinks.custom(Dying(Path(path), point, int(at)), name="folder"))
    app.run(broker=address, until="now" if until == "now" else None)
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
