"""Where rows go besides topics; one file a system."""

from headrace.sinks.postgres import postgres
from headrace.sinks.redis import redis
from headrace.sinks.sqlite import sqlite

__all__ = ["postgres", "redis", "sqlite"]
