"""Rows as webhook calls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace import secrets
from headrace.effects import addresses, arguments
from headrace.effects.effect import Effect, OnDoubt, Sender
from headrace.errors import PlanError, Where
from headrace.plan import spelling
from headrace.plan.callsite import call_site
from headrace.plan.durations import Duration, micros
from headrace.secrets import Secret

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OURS = {"content-length", "transfer-encoding", "host", "connection", "idempotency-key", "headrace-signature", "content-type"}
_SECRET = {"authorization", "proxy-authorization", "cookie", "x-api-key"}


@dataclass(frozen=True, kw_only=True)
class Webhook(Effect):
    """See `webhook`."""

    url: str | Secret
    headers: tuple[tuple[str, str | Secret], ...] = field(repr=False)
    sign: Secret | None
    timeout: int
    """In microseconds."""
    private: bool

    @property
    def secrets(self) -> tuple[Secret, ...]:
        values = (self.url, self.sign, *(value for _, value in self.headers))
        return tuple(value for value in values if isinstance(value, Secret))

    @property
    def together(self) -> int:
        """Where a row may be sent twice, and has a key by which the receiver detects that, several in flight do no harm."""
        return 16 if self.on_doubt == "at_least_once" else 1

    @property
    def sends_secrets(self) -> bool:
        """The key of the signature is not sent."""
        return any(isinstance(value, Secret) for value in (self.url, *(value for _, value in self.headers)))

    def sender(self) -> Sender:
        from headrace.effects.post import PostSender

        return PostSender(self)


@spelling.arguments
def webhook(
    url: str | Secret,
    *,
    headers: Mapping[str, str | Secret] | None = None,
    sign: Secret | None = None,
    id: str | None = None,
    on_doubt: OnDoubt = "at_least_once",
    rate: str | None = None,
    timeout: Duration = "10 seconds",
    private: bool = False,
    retries: int = arguments.RETRIES,
    name: str | None = None,
) -> Webhook:
    """Posts each row to the URL as JSON, with its id as Idempotency-Key.

    With `sign` it carries `Headrace-Signature: t=…,v1=…`, the HMAC-SHA256 of "t.body". Hosts on private networks and on this
    machine are refused unless `private`; redirects are not followed. Write a secret URL or header as `hr.secret("NAME")`.
    `id` is a template, "{order_id}": one call for each id, ever. If nobody can know whether the receiver accepted it,
    on_doubt="at_least_once" sends it again with the same key, and "at_most_once" lists it as UNKNOWN.
    """
    where = call_site().where
    target = url if isinstance(url, Secret) else _url(url, private, where)
    return Webhook(
        **arguments.common(
            "webhook",
            repr(target),
            where,
            name=name,
            id=id,
            on_doubt=on_doubt,
            rate_text=rate,
            retries=retries,
        ),
        url=target,
        headers=tuple(_header(key, value, where) for key, value in (headers or {}).items()),
        sign=secrets.checked(sign, "sign", where),
        timeout=micros(timeout, what="timeout", where=where),
        private=private,
    )


def _url(url: object, private: bool, where: Where) -> str:
    bare = Where(where.file, where.line)
    if not isinstance(url, str):
        raise PlanError("the webhook's URL is not text", where=bare, fix='write webhook("https://example.com/hook")')
    try:
        target = addresses.Target.of(url)
    except ValueError as e:
        raise PlanError(
            f"the webhook's URL can't be used: {e}", where=bare, fix='write webhook("https://example.com/hook")'
        ) from None
    address = addresses.literal(target.host)
    if not private and (target.host == "localhost" or (address is not None and not addresses.public(address))):
        raise PlanError(
            f"{target.host} is on a private network or this machine", where=where, fix="write private=True, if you mean it"
        )
    return url


def _header(name: str, value: object, where: Where) -> tuple[str, str | Secret]:
    bare = Where(where.file, where.line)
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(f"{name!r} is not the name of a header", where=bare, fix='write headers={"X-Team": "desk"}')
    if name.lower() in _OURS:
        raise PlanError(f"the header {name} is set by Headrace itself", where=bare, fix="leave it out")
    if isinstance(value, Secret):
        return name, value
    if name.lower() in _SECRET:
        raise PlanError(
            f"the header {name} must be a secret, not the text itself",
            where=bare,
            fix=f'headers={{"{name}": hr.secret("NAME")}}, with prefix="Bearer " if it needs one',
        )
    if not isinstance(value, str) or not value.isascii() or not value.isprintable():
        raise PlanError(f"the header {name} is not one line of ASCII", where=bare, fix='write headers={"X-Team": "desk"}')
    return name, value
