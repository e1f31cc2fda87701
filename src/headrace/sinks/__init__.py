"""Where rows go besides topics, one module per system: postgres, sqlite, redis and files; the effects email, webhook and call.

`custom` is for all other systems.
"""

from typing import TYPE_CHECKING

from headrace.sinks.call import NotDelivered, call
from headrace.sinks.custom import Refused, Writer, custom
from headrace.sinks.email import email
from headrace.sinks.files import files
from headrace.sinks.postgres import postgres
from headrace.sinks.redis import redis
from headrace.sinks.sqlite import sqlite
from headrace.sinks.webhook import webhook

__all__ = ["NotDelivered", "Refused", "Writer", "call", "custom", "email", "files", "postgres", "redis", "sqlite", "webhook"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from headrace.plan import habits, spelling

        raise spelling.missing("hr.sinks", name, __all__, habits.SINKS)
