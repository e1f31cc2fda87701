"""A source written against the public interface alone, and the process that `kills` kills."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import headrace.sources as sources


class Ticks(sources.Reader):
    """Numbers in groups of three: the last of a group has the position."""

    def __init__(self, count: int) -> None:
        self.count = count

    def read(self, after: Any) -> Iterator[sources.Record | None]:
        for n in range(0 if after is None else after + 1, self.count):
            last = n % 3 == 2 or n == self.count - 1
            yield sources.Record({"n": n}, key=str(n % 7), position=n if last else None)
            if n % 1000 == 0:
                yield None

    def lag(self, position: Any) -> str:
        return f"{self.count - 1 - position} behind"


def main(address: str, app: str, topic: str, count: str, point: str, at: str) -> None:
    """Dies by its own hand before or after the commit of a transaction, if a point says so; says each commit."""
    from headrace.broker.client import Connection
    from headrace.gateways.service import Service
    from headrace.gateways.session import Limits, Session

    number, original, produce = 0, Session.commit, Session._produce

    def commit(session: Session) -> Any:
        nonlocal number
        number += 1
        if point == "before" and number == int(at):
            os.kill(os.getpid(), 9)
        stored = original(session)
        if point == "after" and number == int(at):
            os.kill(os.getpid(), 9)
        print(stored.records, flush=True)
        return stored

    def sent(session: Session, topic: str, *more: Any) -> None:
        produce(session, topic, *more)
        if point == "position" and topic.endswith(".positions") and number == int(at):
            session._producer.flush(10)
            os.kill(os.getpid(), 9)

    Session.commit, Session._produce = commit, sent  # type: ignore[method-assign]
    feed = sources.custom(Ticks(int(count)), topic=topic).feeds
    limits = Limits(records=2000, seconds=0.05)
    with Service(app, feed, Connection(address), say=lambda text: print(text, file=sys.stderr), limits=limits) as service:
        service.drain()
        while service._threads[0].is_alive():
            service._threads[0].join()
        service.check()
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
