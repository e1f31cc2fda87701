"""Folders and files for their owner only."""

from __future__ import annotations

import os
from pathlib import Path


def folder(path: Path) -> Path:
    """One of our own, whoever made it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


def write(path: Path, text: str) -> None:
    """Replaces a file as a whole."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    os.replace(fresh, path)
