"""Rows as HTTP requests: POST, JSON, an Idempotency-Key, a signature. Redirects are not followed."""

from __future__ import annotations

import email.utils
import hashlib
import hmac
import http.client
import json
import select
import socket
import ssl
import string
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from headrace.effects import addresses
from headrace.effects.addresses import Target
from headrace.effects.effect import Away, Doubt, Item, Later, Outcome, Refused, Sent
from headrace.errors import ConfigError
from headrace.secrets import Secret
from headrace.version import __version__

if TYPE_CHECKING:
    from headrace.sinks.webhook import Webhook

# Servers close what was idle; a request on such a connection would be in doubt.
_KEEP_SECONDS = 2.0
_MOST_BYTES = 64 * 1024
_LONGEST_WAIT = 3600.0
_VISIBLE = "".join(c for c in string.punctuation if c != "%")


def signature(key: str, body: bytes, at: int) -> str:
    """The value of the header Headrace-Signature: a time, and the HMAC-SHA256 of "time.body"."""
    digest = hmac.new(key.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def header_value(id: str) -> str:
    """The id as a header can carry it: what is not visible ASCII is percent-encoded, so that two ids never become one."""
    return quote(id, safe=_VISIBLE, errors="surrogatepass")


class _Connection(http.client.HTTPConnection):
    """Goes to the address that was checked; the name is what TLS verifies and what the header Host says."""

    def __init__(self, target: Target, *, private: bool, timeout: float, context: ssl.SSLContext | None) -> None:
        super().__init__(target.host, target.port, timeout=timeout)
        self.default_port = 443 if target.secure else 80
        self._target, self._private, self._seconds, self._context = target, private, timeout, context

    def connect(self) -> None:
        made = addresses.connect(self._target.host, self._target.port, private=self._private, timeout=self._seconds)
        if self._context is not None:
            try:
                made = self._context.wrap_socket(made, server_hostname=self._target.host)
            except BaseException:
                made.close()
                raise
        self.sock = made


@dataclass(slots=True)
class PostSender:
    effect: Webhook
    context: Callable[[], ssl.SSLContext] = ssl.create_default_context
    clock: Callable[[], float] = time.time
    _connection: _Connection | None = field(default=None, init=False)
    _used: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        """Reports what is missing before anything runs."""
        for secret in self.effect.secrets:
            secret.value()
        self._target()

    def send(self, item: Item) -> Outcome:
        try:
            json.loads(item.row)
            body = item.row.encode()
        except ValueError as e:
            return Refused(f"the row is not JSON: {e}")
        try:
            headers = self._headers(item, body)
            connection = self._connect()
        except ConfigError as e:
            return Away(e.message)
        except (OSError, http.client.HTTPException) as e:
            # Nothing was sent yet.
            self.close()
            return Away(_said(e))
        try:
            connection.request("POST", self._target().path, body, headers)
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException) as e:
            self.close()
            return Doubt(f"the connection broke while it was sent or answered: {_said(e)}")
        text = self._rest(answer)
        # A receiver may repeat what it was sent, in any spelling: what could be a secret is not kept.
        shown = "" if self.effect.sends_secrets else _start_of(text)
        return judge(answer.status, answer.getheader("Retry-After"), shown, self.clock())

    def _rest(self, answer: http.client.HTTPResponse) -> bytes:
        """The status has decided; the rest is read for the cause, and so that the connection can be kept."""
        try:
            text = answer.read(_MOST_BYTES)
            if answer.will_close or answer.read(1):
                self.close()
        except (OSError, http.client.HTTPException):
            self.close()
            return b""
        self._used = time.monotonic()
        return text

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _target(self) -> Target:
        url = self.effect.url
        if not isinstance(url, Secret):
            return Target.of(url)
        try:
            return Target.of(url.value())
        except ValueError as e:
            raise ConfigError(f"the URL in {url!r} can't be used: {e}", fix="correct what the secret holds") from None

    def _headers(self, item: Item, body: bytes) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"headrace/{__version__}",
            "Idempotency-Key": header_value(item.id),
        }
        for name, value in self.effect.headers:
            headers[name] = _plain(name, value) if isinstance(value, Secret) else value
        if self.effect.sign is not None:
            headers["Headrace-Signature"] = signature(self.effect.sign.value(), body, int(self.clock()))
        return headers

    def _connect(self) -> _Connection:
        if self._connection is not None and (time.monotonic() - self._used > _KEEP_SECONDS or _closed(self._connection.sock)):
            self.close()
        if self._connection is None:
            target = self._target()
            made = _Connection(
                target,
                private=self.effect.private,
                timeout=self.effect.timeout / 1_000_000,
                context=self.context() if target.secure else None,
            )
            made.connect()
            self._connection = made
        return self._connection


def judge(status: int, retry_after: str | None, text: str, now: float) -> Outcome:
    """What an answer means for the row."""
    cause = f"the receiver answered {status} {http.client.responses.get(status, '')}".rstrip() + (f": {text}" if text else "")
    if 200 <= status < 300:
        return Sent()
    if status == 429 or (status == 503 and retry_after):
        return Away(cause, _seconds(retry_after, now))
    if status in (408, 425):
        return Later(cause)
    if 300 <= status < 400:
        return Refused(f"{cause}: redirects are not followed; use the URL it leads to")
    # 409 is what a receiver says of a key whose first request it still works on.
    if status == 409 or not 200 <= status < 500:
        return Doubt(cause)
    return Refused(cause)


def _seconds(retry_after: str | None, now: float) -> float:
    """Retry-After is a number of seconds or a date."""
    if not retry_after:
        return 0.0
    if retry_after.strip().isdecimal():
        return min(float(retry_after), _LONGEST_WAIT)
    try:
        until = email.utils.parsedate_to_datetime(retry_after).timestamp()
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return min(max(until - now, 0.0), _LONGEST_WAIT)


def _closed(connection: socket.socket | None) -> bool:
    """Between two requests nothing comes from a server but the end of the connection."""
    if connection is None:
        return True
    poll = select.poll()
    poll.register(connection, select.POLLIN | select.POLLHUP | select.POLLERR)
    return bool(poll.poll(0))


def _plain(name: str, secret: Secret) -> str:
    value = secret.value()
    if not value.isascii() or not value.isprintable():
        raise ConfigError(f"{secret!r} can't be the header {name}: it is not one line of ASCII", fix="correct the secret")
    return value


def _start_of(text: bytes) -> str:
    shown = " ".join(text[:300].decode("utf-8", "replace").split())
    return shown if len(shown) <= 200 else shown[:199] + "…"


def _said(e: Exception) -> str:
    return f"{type(e).__name__}: {e}" if str(e) else type(e).__name__
