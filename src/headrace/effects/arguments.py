"""The arguments that all effects take, checked at the user's line."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from headrace.effects import rate, template
from headrace.errors import PlanError, Where
from headrace.plan import checks

RETRIES = 20


def common(
    kind: str,
    identity: object,
    where: Where,
    *,
    name: str | None,
    id: str | None,
    on_doubt: str,
    rate_text: str | None,
    retries: int,
) -> dict[str, Any]:
    """The fields of `Effect` from what the user gave. Without a name it is derived from what the effect is about."""
    checks.one_of("on_doubt", on_doubt, ("at_most_once", "at_least_once"), where)
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(f"retries={retries!r} is not a number of retries", where=where, fix="write retries=20, or 0 for none")
    if id is not None and not template.template_columns(template.checked(id, "id", where)):
        raise PlanError(f"id={id!r} is the same for every row", where=where, fix='name a column: id="{order_id}"')
    return {
        "name": checks.name(name, "effect", where) if name is not None else f"{kind}-{_digest(identity)}",
        "id": id,
        "on_doubt": on_doubt,
        "rate": rate.checked(rate_text, where),
        "retries": retries,
        "where": where,
    }


def _digest(identity: object) -> str:
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:8]
