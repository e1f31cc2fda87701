"""Rows as e-mails."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import parseaddr
from typing import Literal

from headrace import secrets
from headrace.effects import arguments, template
from headrace.effects.addresses import literal
from headrace.effects.effect import Effect, OnDoubt, Sender
from headrace.errors import PlanError, Where
from headrace.plan import checks, spelling
from headrace.plan.callsite import call_site
from headrace.secrets import Secret

Tls = Literal["starttls", "tls", "none"]

ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
"""One plain address: no names, no quotes, no lists."""

_SERVER = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})")


@dataclass(frozen=True, kw_only=True)
class Email(Effect):
    """See `email`."""

    to: tuple[str, ...]
    subject: str
    body: str | None
    sender_address: str | None
    host: str
    port: int
    user: str | None
    password: Secret | None
    tls: Tls

    @property
    def templates(self) -> tuple[str, ...]:
        return (*self.to, self.subject, *([self.body] if self.body is not None else []))

    @property
    def secrets(self) -> tuple[Secret, ...]:
        return () if self.password is None else (self.password,)

    def sender(self) -> Sender:
        from headrace.effects.smtp import SmtpSender

        return SmtpSender(self)


@spelling.arguments
def email(
    *,
    to: str | Sequence[str],
    subject: str,
    body: str | None = None,
    sender: str | None = None,
    server: str = "127.0.0.1:25",
    user: str | None = None,
    password: Secret | None = None,
    tls: Tls | None = None,
    id: str | None = None,
    on_doubt: OnDoubt = "at_most_once",
    rate: str | None = None,
    retries: int = arguments.RETRIES,
    name: str | None = None,
) -> Email:
    """Sends each row as an e-mail; with several addresses, to all of them or to none.

    `to`, `subject` and `body` are templates: "{symbol} moved". Without a body, the e-mail lists the columns. `tls` defaults to
    "starttls", or to "none" if the server is this machine. `id` is a template too: one e-mail for each id, ever. If nobody
    can know whether the server accepted it, on_doubt="at_most_once" lists it as UNKNOWN, and "at_least_once" sends it again,
    with the same Message-ID. `rate` is for example "10 per minute".
    """
    where = call_site().where
    host, port = _server(server, where)
    local = _local(host)
    if tls is not None:
        checks.one_of("tls", tls, ("starttls", "tls", "none"), where)
    chosen: Tls = tls or ("none" if local else "starttls")
    secret = secrets.checked(password, "password", where)
    if (user is None) != (secret is None):
        raise PlanError("user= and password= go together", where=where, fix="write both, or neither")
    if user is not None and not (user.isascii() and user.isprintable()):
        raise PlanError(f"user={user!r} is not a name that SMTP can carry", where=where, fix="use ASCII letters and signs")
    if secret is not None and chosen == "none" and not local:
        raise PlanError(
            "the password would cross the network in plain text", where=where, fix='write tls="starttls" or tls="tls"'
        )
    addresses = _addresses(to, where)
    return Email(
        **arguments.common(
            "email",
            [addresses, subject],
            where,
            name=name,
            id=id,
            on_doubt=on_doubt,
            rate_text=rate,
            retries=retries,
        ),
        to=addresses,
        subject=_subject(subject, where),
        body=None if body is None else template.checked(body, "body", where),
        sender_address=None if sender is None else _sender(sender, where),
        host=host,
        port=port,
        user=user,
        password=secret,
        tls=chosen,
    )


def _addresses(to: str | Sequence[str], where: Where) -> tuple[str, ...]:
    found = (to,) if isinstance(to, str) else tuple(to)
    if not found:
        raise PlanError("the e-mail has no recipients", where=where, fix='write to="desk@example.com"')
    for text in found:
        if not template.template_columns(template.checked(text, "to", where)) and not ADDRESS.fullmatch(text):
            raise PlanError(
                f"to={text!r} is not an e-mail address",
                where=where,
                fix='write to="desk@example.com", to=["a@example.com", "b@example.com"] or to="{column}"',
            )
    return tuple(dict.fromkeys(found))


def _subject(text: str, where: Where) -> str:
    if any(c < " " for c in template.checked(text, "subject", where)):
        raise PlanError(
            "subject= has a line break or another control character in it", where=where, fix="write one line of text"
        )
    return text


def _sender(text: str, where: Where) -> str:
    if not text.isprintable() or not ADDRESS.fullmatch(parseaddr(text)[1]) or "," in text:
        raise PlanError(
            f"sender={text!r} is not an address",
            where=where,
            fix='write sender="Desk <desk@example.com>"; it is not a template',
        )
    return text


def _server(text: object, where: Where) -> tuple[str, int]:
    match = _SERVER.fullmatch(text) if isinstance(text, str) else None
    if match is None or not 0 < int(match[2]) < 65536:
        raise PlanError(f"server={text!r} is not an address", where=where, fix='write server="smtp.example.com:587"')
    return match[1].strip("[]"), int(match[2])


def _local(host: str) -> bool:
    address = literal(host)
    return host == "localhost" or (address is not None and address.is_loopback)
