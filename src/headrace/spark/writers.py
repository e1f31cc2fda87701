"""A user's own writer, as the kernel calls it: once per piece of a batch, never per row (kernel: sink.python)."""

from __future__ import annotations

import os
import site
import sysconfig
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from headrace.errors import HeadraceError
from headrace.sinks.custom import Writer

_LONGEST = 1000
_MISTAKES = (AttributeError, ImportError, NameError, NotImplementedError, TypeError)
"""Mistakes in the class, not failures of the system it writes to: another attempt would fail too."""
_PACKAGE = str(Path(__file__).parent.parent)
_LIBRARIES = tuple(
    os.path.join(folder, "")
    for folder in {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), *site.getsitepackages(), _PACKAGE}
)


class Calls:
    """What the kernel calls; an exception becomes an answer: "lasting" or "transient", and the cause.

    One for each writer, in all runs of this process. Spark may die during a call, or between `write` and `commit`: the next
    `begin` waits for that call, and closes what it finds open.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._turn = threading.Lock()
        self._begun = self._written = False

    @classmethod
    def of(cls, writer: Writer) -> Calls:
        return vars(writer).setdefault("_headrace_calls", cls(writer))

    def begin(self) -> str:
        found: list[str | bytes | None] = []
        failed = self._call("begin", lambda: found.append(self._begin()))
        if failed is not None:
            return failed
        match found[0]:
            case None:
                return "mark"
            case str() as mark:
                return f"mark {mark}"
            case bytes() as mark:
                return f"mark {mark.decode(errors='replace')}"
            case other:  # pyright: ignore[reportUnnecessaryComparison]
                kind = type(other).__name__
                return f"lasting begin() returned a mark of the type {kind}: return the text that commit() got, or None"

    def _begin(self) -> str | bytes | None:
        if self._written:
            with suppress(Exception):
                self._abort()
        if self._begun:
            with suppress(Exception):
                self._close()
        self._begun = True
        return self._writer.begin()

    def write(self, file: str) -> str | None:
        return self._call("write", lambda: self._pieces(file))

    def _pieces(self, file: str) -> None:
        self._written = True
        # What the writer keeps of a batch stays mapped, even after the file is deleted.
        import pyarrow  # an extra, which ends.py has asked for

        arrow, writer = cast("Any", pyarrow), cast("Any", self._writer)
        with arrow.memory_map(file) as mapped, arrow.ipc.open_stream(mapped) as pieces:
            for piece in pieces:
                writer.write(piece)

    def commit(self, mark: str) -> str | None:
        return self._call("commit", lambda: self._commit(mark))

    def _commit(self, mark: str) -> None:
        self._writer.commit(mark)
        self._written = False

    def abort(self) -> str | None:
        return self._call("abort", self._abort)

    def _abort(self) -> None:
        self._written = False
        self._writer.abort()

    def forget(self) -> str | None:
        return self._call("forget", self._writer.forget)

    def clear(self) -> str | None:
        return self._call("clear", self._writer.clear)

    def close(self) -> str | None:
        return self._call("close", self._close)

    def _close(self) -> None:
        self._begun = False
        self._writer.close()

    def _call(self, verb: str, call: Callable[[], object]) -> str | None:
        try:
            with self._turn:
                call()
        # Every exception: the JVM waits for an answer.
        except BaseException as e:
            return f"{_kind(e)} {_cause(verb, e)}"
        return None

    class Java:
        implements = ("headrace.kernel.sink.python.UserWriter",)


def _kind(e: BaseException) -> str:
    return "lasting" if isinstance(e, (HeadraceError, *_MISTAKES)) or not isinstance(e, Exception) else "transient"


def _cause(verb: str, e: BaseException) -> str:
    """The last line of the traceback, and the innermost line of the user's code in it."""
    text = e.message if isinstance(e, HeadraceError) else "".join(traceback.format_exception_only(e)).strip().split("\n")[-1]
    fix = f" fix: {e.fix}" if isinstance(e, HeadraceError) and e.fix else ""
    frames = traceback.extract_tb(e.__traceback__)
    own = [frame for frame in frames if not os.path.abspath(frame.filename).startswith(_LIBRARIES)]
    place = f" (in {own[-1].name}, {own[-1].filename}:{own[-1].lineno})" if own else ""
    return f"{verb}() failed: {' '.join(text.split())[:_LONGEST]}{place}{fix}"
