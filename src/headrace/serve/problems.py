"""Errors as clients get them: application/problem+json, with what is wrong, and what to do next."""

from __future__ import annotations

from typing import Any

from headrace.errors import HeadraceError


class Problem(HeadraceError):
    """A request that can't be answered. `kind` names the problem for programs: `unknown-view`, `expired`."""

    def __init__(self, status: int, kind: str, message: str, *, fix: str | None = None, **more: Any) -> None:
        super().__init__(message, fix=fix)
        self.status, self.kind, self.more = status, kind, more

    def json(self) -> dict[str, Any]:
        """RFC 9457, with `fix` beside `detail`."""
        title = self.kind.replace("-", " ")
        found = {"type": f"/problems/{self.kind}", "title": title, "status": self.status, "detail": self.message}
        return found | ({"fix": self.fix} if self.fix else {}) | self.more


def unknown_view(name: str, views: list[str]) -> Problem:
    have = f"the views are {', '.join(sorted(views)[:20])}" if views else "no view is served here"
    return Problem(404, "unknown-view", f"there is no view {name!r}; {have}", fix="GET /views lists them")


def bad_request(message: str, *, fix: str | None = None) -> Problem:
    return Problem(400, "bad-request", message, fix=fix)
