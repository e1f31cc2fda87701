"""Why a query stopped, without Java."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

from py4j.protocol import Py4JError
from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a query stopped, without Java: the chain of causes as class names and one text, and what Spark blames."""

    classes: tuple[str, ...]
    texts: tuple[str, ...]
    sentence: str
    condition: str
    fragments: tuple[str, ...]
    python: str | None
    trace: str

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    def message(self, kind: str) -> str | None:
        """What a cause of this class says; None if there is none."""
        return next((text for name, text in zip(self.classes, self.texts, strict=True) if name.endswith("." + kind)), None)


class Stopped(Exception):
    """A query that could not even start."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.failure = failure


def failure(query: StreamingQuery) -> Failure | None:
    """The failure of a query that stopped; None if it was stopped on purpose or runs."""
    option: Any = cast(Any, query)._jsq.exception()
    return failure_of(option.get().cause(), option.get()) if option.isDefined() else None


def failure_of(first: Any, exception: Any = None) -> Failure:
    chain: list[Any] = []
    current = first
    while current is not None and len(chain) < 20:
        chain.append(current)
        current = current.getCause()
    classes = tuple(str(link.getClass().getName()) for link in chain)
    texts = [str(link.getMessage() or "") for link in chain]
    text = "\n".join(texts)
    condition, fragments = "", list[str]()
    for name, link in zip(classes, chain, strict=True):
        if name.startswith("org.apache.spark."):
            condition = condition or str(_call(link, "getCondition") or "")
            for context in cast("list[Any]", _call(link, "getQueryContext") or []):
                fragments += [str(found) for found in (_call(context, "fragment"),) if found]
    return Failure(
        classes=classes,
        texts=tuple(texts),
        sentence=_sentence(texts),
        condition=condition,
        fragments=tuple(fragments),
        python=_python_error(text),
        trace=str((exception or first).toString()),
    )


def _call(target: Any, method: str) -> Any:
    """Not every exception of Spark answers; one that does not is passed over."""
    try:
        return getattr(target, method)()
    except Py4JError:
        return None


def _sentence(texts: list[str]) -> str:
    """The innermost message that says something, in one line."""
    for text in reversed(texts):
        line = re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", text.strip().split("\n")[0])
        line = re.sub(r"\s*SQLSTATE: \w+.*$", "", line)
        if line:
            return line
    return texts[0].split("\n")[0] if texts else "unknown cause"


def _python_error(text: str) -> str | None:
    """The last line of a Python traceback, and where in the user's function it arose."""
    if "Traceback (most recent call last)" not in text:
        return None
    lines = [line for line in text.split("Traceback (most recent call last)", 1)[1].splitlines() if line.strip()]
    frames = [
        m for line in lines if (m := re.match(r'\s*File "([^"]+)", line (\d+), in (\S+)', line)) and "/pyspark/" not in m[1]
    ]
    last = next(
        (line.strip() for line in lines if re.match(r"^[A-Za-z_][\w.]*(Error|Exception|Warning|Interrupt|Exit)\b", line)),
        "a Python error",
    )
    return last + (f" (in {frames[-1][3]}, {frames[-1][1]}:{frames[-1][2]})" if frames else "")
