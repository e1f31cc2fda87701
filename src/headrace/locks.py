"""A file that one process holds at a time, with its process id in it. A process that inherits the open file holds it too."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


class Taken(Exception):
    """Another process holds the file; `pid` is None when it did not say which."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid)
        self.pid = pid


@contextmanager
def held(path: Path) -> Generator[int]:
    """Holds the file, and yields its descriptor; raises Taken."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Taken(_pid(file)) from None
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        try:
            yield file
        finally:
            # Closing would not do while another process has it open.
            fcntl.flock(file, fcntl.LOCK_UN)
    finally:
        os.close(file)


def is_held(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(file)


def alive(pid: int) -> bool:
    """One that has ended and whose parent has not asked for it yet is not."""
    try:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return False
    except OSError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _pid(file: int) -> int | None:
    text = os.pread(file, 32, 0).strip()
    return int(text) if text.isdigit() else None
