"""Rows as calls of your function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.effects import arguments
from headrace.effects.effect import Doubt, Effect, Item, Later, OnDoubt, Outcome, Refused, Sender, Sent
from headrace.errors import PlanError
from headrace.plan import spelling
from headrace.plan.callsite import call_site

Function = Callable[[dict[str, Any], str], object]


class NotDelivered(Exception):
    """Raised by the function of `call` when it is certain that nothing happened; it is called again, unless again=False."""

    def __init__(self, cause: str, *, again: bool = True) -> None:
        super().__init__(cause)
        self.again = again


@dataclass(frozen=True, kw_only=True)
class Call(Effect):
    """See `call`."""

    function: Function

    def sender(self) -> Sender:
        return CallSender(self.function)


@dataclass(frozen=True, slots=True)
class CallSender:
    function: Function

    def send(self, item: Item) -> Outcome:
        try:
            values = item.values
        except ValueError as e:
            return Refused(f"the row is not a JSON object: {e}")
        try:
            self.function(values, item.id)
        except NotDelivered as e:
            return Later(str(e)) if e.again else Refused(str(e))
        except Exception as e:
            return Doubt(f"the function raised {type(e).__name__}: {e}")
        return Sent()

    def close(self) -> None:
        pass


@spelling.arguments
def call(
    function: Function,
    *,
    id: str | None = None,
    on_doubt: OnDoubt = "at_most_once",
    rate: str | None = None,
    retries: int = arguments.RETRIES,
    name: str | None = None,
) -> Call:
    """Calls the function for each row, with the row, a dict, and its id. When it returns, the row is done.

    It runs in the application's process, one row at a time. An exception means doubt: nobody knows how far it got. Raise
    `hr.sinks.NotDelivered("why")` if nothing happened: the function is called again later. `id` is a template, "{order_id}":
    one call for each id, ever.
    """
    where = call_site().where
    if not callable(function):
        raise PlanError(
            f"{function!r} is not a function", where=where, fix="write def notify(row, id): …, and then call(notify)"
        )
    known = getattr(function, "__name__", "")
    if name is None and not known.isidentifier():
        raise PlanError("a function without a name needs name=", where=where, fix='write call(…, name="notify-desk")')
    return Call(
        **arguments.common(
            "call",
            known,
            where,
            name=name if name is not None else known,
            id=id,
            on_doubt=on_doubt,
            rate_text=rate,
            retries=retries,
        ),
        function=function,
    )
