"""The process that `kills` kills: sends the alerts of an outbox, for ever or to the end."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Literal

import headrace as hr
from headrace.effects.dispatch import Dispatcher
from headrace.effects.effect import Effect

Kind = Literal["email", "webhook"]
Policy = Literal["at_most_once", "at_least_once"]
NAME = "alerts"


def effect(kind: Kind, policy: Policy, port: int) -> Effect:
    if kind == "email":
        return hr.sinks.email(
            to="desk@example.com",
            subject="alert {n}",
            sender="hr@example.com",
            server=f"127.0.0.1:{port}",
            on_doubt=policy,
            name=NAME,
        )
    return hr.sinks.webhook(f"http://127.0.0.1:{port}/", private=True, on_doubt=policy, name=NAME)


def main(file: str, kind: Kind, policy: Policy, port: str, *end: str) -> None:
    dispatcher = Dispatcher(Path(file), [effect(kind, policy, int(port))], say=lambda text: print(text, file=sys.stderr))
    dispatcher.start()
    if not end:
        threading.Event().wait()
    while dispatcher.wait_idle() and dispatcher.waiting():
        threading.Event().wait(0.05)
    dispatcher.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])  # pyright: ignore
