"""Rows as e-mails, over SMTP. Before the server has the text nothing can be delivered; after that, only its answer says."""

from __future__ import annotations

import email.policy
import hashlib
import smtplib
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import formatdate, parseaddr
from typing import TYPE_CHECKING, NamedTuple

from headrace.effects import template
from headrace.effects.effect import Away, Doubt, Item, Later, Outcome, Refused, Sent
from headrace.errors import ConfigError
from headrace.secrets import Secret

if TYPE_CHECKING:
    from headrace.sinks.email import Email

_TIMEOUT = 30.0
_CLOSING = 421
_POLICY = email.policy.SMTP.clone(cte_type="7bit")


class Message(NamedTuple):
    sender: str
    to: tuple[str, ...]
    content: bytes


class _NotMade(Exception):
    """The row can't become an e-mail; its text says why."""


class _Refused(Exception):
    """The server said no before it had the text."""

    def __init__(self, step: str, code: int, reply: bytes) -> None:
        super().__init__(f"the server answered {step} with {code} {_text(reply)}")
        self.code = code


def message_id(id: str, domain: str) -> str:
    """The same for every attempt of a row, so that receivers can tell it was sent twice."""
    return f"<{hashlib.sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}@{domain}>"


@dataclass(slots=True)
class SmtpSender:
    effect: Email
    context: Callable[[], ssl.SSLContext] = ssl.create_default_context
    _session: smtplib.SMTP | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Reports what is missing before anything runs."""
        for secret in self.effect.secrets:
            secret.value()

    def send(self, item: Item) -> Outcome:
        try:
            message = self._message(item)
        except _NotMade as e:
            return Refused(str(e))
        try:
            session = self._offer(message)
        except _Refused as e:
            self._reset()
            return _no(e) or Away(str(e))
        except ConfigError as e:
            self._drop()
            return Away(e.message)
        except OSError as e:
            self._drop()
            return Away(f"{self.effect.host}:{self.effect.port}: {_said(e)}")
        try:
            session.send(message.content)
            code, reply = session.getreply()
        except OSError as e:
            self._drop()
            return Doubt(f"the connection broke after the text was sent: {_said(e)}")
        if 200 <= code < 300:
            return Sent()
        refused = _Refused("the text", code, reply)
        return _no(refused) or Doubt(str(refused))

    def close(self) -> None:
        if self._session is not None:
            try:
                self._session.quit()
            except OSError:
                self._drop()
            self._session = None

    def _offer(self, message: Message) -> smtplib.SMTP:
        """Up to the point where the server wants the text. A connection that was kept may be gone: then a new one, once."""
        if self._session is not None:
            try:
                return self._envelope(self._session, message)
            except smtplib.SMTPServerDisconnected:
                self._drop()
            except _Refused as e:
                if e.code != _CLOSING:
                    raise
                self._drop()
        self._session = self._connect()
        return self._envelope(self._session, message)

    def _envelope(self, session: smtplib.SMTP, message: Message) -> smtplib.SMTP:
        _expect("MAIL FROM", session.mail(message.sender), 250)
        # All or nobody: an e-mail that only some received could not be sent again.
        for address in message.to:
            _expect(f"RCPT TO {address}", session.rcpt(address), 250, 251)
        _expect("DATA", session.docmd("DATA"), 354)
        return session

    def _connect(self) -> smtplib.SMTP:
        effect = self.effect
        if effect.tls == "tls":
            session: smtplib.SMTP = smtplib.SMTP_SSL(effect.host, effect.port, timeout=_TIMEOUT, context=self.context())
        else:
            session = smtplib.SMTP(effect.host, effect.port, timeout=_TIMEOUT)
        try:
            if effect.tls == "starttls":
                session.starttls(context=self.context())
            if effect.user is not None and effect.password is not None:
                session.login(effect.user, _ascii(effect.password))
            else:
                session.ehlo_or_helo_if_needed()
        except BaseException:
            session.close()
            raise
        return session

    def _reset(self) -> None:
        try:
            if self._session is not None:
                self._session.rset()
        except OSError:
            self._drop()

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _message(self, item: Item) -> Message:
        effect = self.effect
        try:
            values = item.texts
            to = tuple(dict.fromkeys(_address(template.render(text, values)) for text in effect.to))
            subject = _line("subject", template.render(effect.subject, values))
            body = "".join(f"{name}: {template.shown(value)}\n" for name, value in values.items())
            if effect.body is not None:
                body = template.render(effect.body, values)
        except KeyError as e:
            raise _NotMade(f"the row has no column {e}") from None
        except ValueError as e:
            raise _NotMade(f"the row is not a JSON object: {e}") from None
        sender = effect.sender_address or f"headrace@{socket.gethostname()}"
        address = parseaddr(sender)[1]
        message = EmailMessage(policy=_POLICY)
        try:
            message["From"] = sender
            message["To"] = ", ".join(to)
            message["Subject"] = subject
            message["Date"] = formatdate(usegmt=True)
            message["Message-ID"] = message_id(item.id, address.rpartition("@")[2])
            message["Auto-Submitted"] = "auto-generated"
            message.set_content(body)
            content = message.as_bytes()
        except (ValueError, LookupError) as e:
            raise _NotMade(f"the row can't be written as an e-mail: {e}") from None
        return Message(address, to, _dotted(content))


def _address(text: str) -> str:
    from headrace.sinks.email import ADDRESS

    if not ADDRESS.fullmatch(text):
        raise _NotMade(f"to: {text!r} is not an e-mail address")
    return text


def _line(name: str, text: str) -> str:
    """A line break in a header would begin another header."""
    wrong = next((c for c in text if c < " " or c in "\x7f\x85\u2028\u2029"), None)
    if wrong is not None:
        raise _NotMade(f"{name}: a header can't have {wrong!r} in it")
    return text


def _ascii(password: Secret) -> str:
    value = password.value()
    if not value.isascii():
        raise ConfigError(f"{password!r} can't be used: SMTP passwords are ASCII", fix="choose another password")
    return value


def _dotted(content: bytes) -> bytes:
    """As DATA wants it: a line that begins with a dot gets a second one, and a lone dot is the end."""
    lines = content.removesuffix(b"\r\n").split(b"\r\n")
    return b"".join((b"." if line.startswith(b".") else b"") + line + b"\r\n" for line in lines) + b".\r\n"


def _expect(step: str, answer: tuple[int, bytes], *codes: int) -> None:
    if answer[0] not in codes:
        raise _Refused(step, *answer)


def _no(e: _Refused) -> Outcome | None:
    """421: the server is closing, which is not about this row; other 4xx: not now; 5xx: never; else it is no answer."""
    if e.code == _CLOSING:
        return Away(str(e))
    if 400 <= e.code < 500:
        return Later(str(e))
    return Refused(str(e)) if 500 <= e.code < 600 else None


def _text(reply: bytes) -> str:
    return " ".join(reply.decode("utf-8", "replace").split())[:200]


def _said(e: OSError) -> str:
    if isinstance(e, smtplib.SMTPResponseException):
        reply = e.smtp_error
        return f"{e.smtp_code} {_text(reply if isinstance(reply, bytes) else str(reply).encode())}"
    return f"{type(e).__name__}: {e}" if str(e) else type(e).__name__
