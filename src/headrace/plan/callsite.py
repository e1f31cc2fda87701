"""Where in the user's program a verb was typed."""

from __future__ import annotations

import linecache
import os
import sys
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from headrace.errors import Where

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@dataclass(frozen=True, slots=True)
class CallSite:
    """The user's line, and the names that can be seen from it (functions marked with @hr.udf are found there)."""

    where: Where
    frame: FrameType

    @property
    def scope(self) -> Mapping[str, Any]:
        return ChainMap(self.frame.f_locals, self.frame.f_globals)


def call_site() -> CallSite:
    """The nearest frame outside of Headrace."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE):
        frame = frame.f_back
    file, line = frame.f_code.co_filename, _line(frame)
    shown = os.path.relpath(file) if os.path.isabs(file) and not os.path.relpath(file).startswith("..") else file
    return CallSite(Where(shown, line, linecache.getline(file, line).strip()), frame)


def _line(frame: FrameType) -> int:
    """The line of this call in a chain of calls: where its last argument or its name stands, not where the chain begins."""
    positions = list(frame.f_code.co_positions())
    start, end, *_ = positions[frame.f_lasti // 2] if frame.f_lasti >= 0 else (None, None)
    if start is None or end is None or end == start:
        return frame.f_lineno
    # Before Python 3.12 a method call starts where its chain starts; walk back from its end to the line that opens it.
    depth = 0
    for line in range(end, start - 1, -1):
        text = linecache.getline(frame.f_code.co_filename, line)
        depth += text.count(")") - text.count("(")
        if depth <= 0 and "(" in text:
            return line
    return frame.f_lineno
