"""A route of the server: what it answers, who may ask, and how the OpenAPI document describes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response

Access = Literal["open", "read", "operate"]
"""`open` needs no token, `read` the token of any role, `operate` that of an operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """Of the path or the query string; `schema` as in OpenAPI."""

    name: str
    place: Literal["path", "query", "header"]
    about: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """`path` is Starlette's: `/views/{view}`, `/views/{view}/{key:path}`. `handle` raises Problem."""

    method: Literal["GET", "POST"]
    path: str
    handle: Callable[[Request], Awaitable[Response]]
    access: Access
    about: str
    parameters: tuple[Parameter, ...] = ()
    body: Mapping[str, Any] | None = None
    """The schema of the JSON body."""
    answer: str = "application/json"
