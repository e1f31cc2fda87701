"""The Java parts that come from Maven: Spark's connectors, the embedded broker, and JUnit for the kernel's tests.

jars.toml pins every file and its SHA-256. A file is fetched once into the user's cache; later starts need no network.
`python -m headrace.jars lock` resolves the roots again and rewrites the pins.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from headrace.errors import SetupError

PINS = Path(__file__).with_name("jars.toml")
TRIES = 3


@dataclass(frozen=True, slots=True)
class Pin:
    """One artifact, `group:artifact:version` or `group:artifact:jar:classifier:version`, and the sum its file must have."""

    coordinate: str
    sha256: str

    @property
    def filename(self) -> str:
        _, artifact, *classifier, version = self.coordinate.split(":")
        return "-".join([artifact, version, *classifier[1:]]) + ".jar"


def connector_jars() -> list[Path]:
    """What Spark needs to read Kafka, and the kernel to write Kafka and databases."""
    return fetch(pins("connector"))


def broker_jars() -> list[Path]:
    """What a Kafka node needs to run."""
    return fetch(pins("broker"))


def junit_jars() -> list[Path]:
    """What the kernel's own tests need; fetched only by them."""
    return fetch(pins("junit"))


def formatter_jars() -> list[Path]:
    """What lays out the kernel's Java; fetched only by `make lint` and `make format`."""
    return fetch(pins("formatter"))


def pins(part: str) -> list[Pin]:
    table: dict[str, str] = tomllib.loads(PINS.read_text())[part]
    return [Pin(coordinate, sha256) for coordinate, sha256 in table.items()]


def cache() -> Path:
    """HEADRACE_CACHE, or headrace/ in the user's cache."""
    own = os.environ.get("HEADRACE_CACHE")
    if own:
        return Path(own).expanduser() / "jars"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headrace" / "jars"


def fetch(wanted: Sequence[Pin]) -> list[Path]:
    """The files of these pins, checked; those not in the cache are downloaded first."""
    folder = cache()
    if _missing(wanted, folder):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with _locked(folder / ".lock"):
                _download(_missing(wanted, folder), folder)
        except OSError as e:
            raise SetupError(
                f"can't write the jars to {folder}: {e}", fix="set HEADRACE_CACHE to a folder you may write"
            ) from e
    paths = [folder / pin.filename for pin in wanted]
    for pin, path in zip(wanted, paths, strict=True):
        found = _sha256(path)
        if found != pin.sha256:
            raise SetupError(_other_sum(str(path), found, pin), fix=f"rm {path}, and start again to fetch it anew")
    return paths


def _missing(wanted: Sequence[Pin], folder: Path) -> list[Pin]:
    return [pin for pin in wanted if not (folder / pin.filename).exists()]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _other_sum(name: str, found: str, pin: Pin) -> str:
    return f"{name} is not the file Headrace was tested with: its SHA-256 is {found[:12]}…, expected {pin.sha256[:12]}…"


def _download(wanted: Sequence[Pin], folder: Path) -> None:
    if not wanted:
        return
    # jgo writes in place, so it gets a folder of its own; only checked files move on to the cache.
    scratch = Path(tempfile.mkdtemp(prefix=".fetch-", dir=folder))
    try:
        with _progress(len(wanted), folder) as advance, ThreadPoolExecutor(6) as pool:
            maven = _maven(scratch)

            def one(pin: Pin) -> None:
                path = _download_one(maven, pin)
                found = _sha256(path)
                if found != pin.sha256:
                    raise SetupError(
                        _other_sum(f"the {pin.filename} that came from the registry", found, pin),
                        fix="look for a proxy or mirror that changes files, then start again",
                    )
                os.replace(path, folder / pin.filename)
                advance()

            # Every future is asked for its result: the first error is the one shown.
            for done in [pool.submit(one, pin) for pin in wanted]:
                done.result()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _maven(repo_cache: Path) -> Any:
    from jgo.config import GlobalSettings
    from jgo.maven import MavenContext

    # A mirror named in the user's jgo.conf is used here too.
    mirrors = GlobalSettings.load().repositories
    return MavenContext(repo_cache=repo_cache, remote_repos=mirrors or None, timeout=60)


def _download_one(maven: Any, pin: Pin) -> Path:
    for last in [False] * (TRIES - 1) + [True]:
        artifact = maven.create_dependency(pin.coordinate).artifact
        try:
            return maven.resolver.download(artifact)
        except Exception as e:
            artifact.cached_path.unlink(missing_ok=True)
            if last:
                raise SetupError(
                    f"can't fetch {pin.coordinate}: {_reason(e)}",
                    fix="check the network (HTTPS_PROXY counts; a mirror goes into [repositories] of ~/.config/jgo.conf), "
                    f"or copy {cache()} from a machine that has it",
                ) from e
    raise AssertionError


def _reason(e: Exception) -> str:
    import requests

    if isinstance(e, requests.exceptions.ProxyError):
        return "the proxy does not answer"
    if isinstance(e, requests.exceptions.ConnectionError):
        return "the Maven repository does not answer"
    if isinstance(e, requests.exceptions.RequestException):
        return type(e).__name__
    return "the Maven repository does not have it" if isinstance(e, RuntimeError) else str(e)


@contextmanager
def _locked(path: Path) -> Generator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _progress(total: int, folder: Path) -> Generator[Callable[[], None]]:
    text = f"fetching {total} jar{'s' * (total > 1)} into {folder}, once"
    if not sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)
        yield lambda: None
        print("fetched", file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(text, total=total)
        yield lambda: bar.advance(task)


def lock(pin_file: Path = PINS) -> None:
    """Resolves the roots named in the pin file and writes the pins anew."""
    text = pin_file.read_text()
    roots: dict[str, dict[str, Any]] = tomllib.loads(text)["roots"]
    head = text[: text.index("\n[connector]") if "\n[connector]" in text else len(text)].rstrip() + "\n"
    with tempfile.TemporaryDirectory() as scratch:
        maven = _maven(Path(scratch))
        for part, of in roots.items():
            found = _closure(maven, of["jars"]) if of["transitive"] else of["jars"]
            head += f"\n[{part}]\n" + "".join(_pin_lines(maven, found))
    pin_file.write_text(head)


def _closure(maven: Any, roots: Sequence[str]) -> list[str]:
    """One root at a time, the first one's versions win: resolved together, each would manage the others' versions."""
    found: dict[str, str] = {}
    for root in roots:
        named, more = maven.resolver.resolve([maven.create_dependency(root)])
        for d in [*named, *more]:
            found.setdefault(f"{d.groupId}:{d.artifactId}", str(d.version))
    return [f"{name}:{version}" for name, version in sorted(found.items())]


def _pin_lines(maven: Any, found: Sequence[str]) -> list[str]:
    with ThreadPoolExecutor(6) as pool:
        paths = list(pool.map(partial(_download_one, maven), [Pin(coordinate, "") for coordinate in found]))
    return [f'"{coordinate}" = "{_sha256(path)}"\n' for coordinate, path in zip(found, paths, strict=True)]


if __name__ == "__main__":
    if sys.argv[1:] != ["lock"]:
        sys.exit("usage: python -m headrace.jars lock")
    lock()
