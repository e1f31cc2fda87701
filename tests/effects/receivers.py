"""Real receivers on loopback, whose logs are the truth: what stands there has arrived."""

from __future__ import annotations

import email
import email.policy
import json
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session


class Log:
    """What arrived, in order; others can wait for it."""

    def __init__(self) -> None:
        self._arrived = threading.Condition()
        self.entries: list[Any] = []

    def add(self, entry: Any) -> None:
        with self._arrived:
            self.entries.append(entry)
            self._arrived.notify_all()

    def wait(self, count: int, timeout: float = 20) -> bool:
        with self._arrived:
            return self._arrived.wait_for(lambda: len(self.entries) >= count, timeout)


@dataclass
class Request:
    headers: dict[str, str]
    body: bytes

    @property
    def key(self) -> str:
        return self.headers["idempotency-key"]

    @property
    def row(self) -> Any:
        return json.loads(self.body)


Answer = int | tuple[int, dict[str, str]] | Callable[[BaseHTTPRequestHandler], None]


class HttpReceiver:
    """Answers 200, or what `answers` says, one by one. A request is logged when all of it has come, before the answer."""

    def __init__(self, *, context: ssl.SSLContext | None = None, host: str = "127.0.0.1", port: int = 0) -> None:
        self.log = Log()
        self.answers: deque[Answer] = deque()
        self.connections = 0
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                receiver.connections += 1

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                body = self.rfile.read(length)
                if len(body) < length:
                    # The sender died in the middle of it.
                    self.close_connection = True
                    return
                receiver.log.add(Request({k.lower(): v for k, v in self.headers.items()}, body))
                answer = receiver.answers.popleft() if receiver.answers else 200
                if callable(answer):
                    answer(self)
                    return
                status, headers = answer if isinstance(answer, tuple) else (answer, {})
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"ok")

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass

        self._server = Server((host, port), Handler)
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"{'https' if context else 'http'}://{host}:{self.port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    """Takes the request and ends the connection without an answer."""
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


@dataclass
class Mail:
    id: str
    subject: str
    sender: str
    to: list[str]
    message: EmailMessage

    @property
    def text(self) -> str:
        return self.message.get_content().replace("\r\n", "\n")


@dataclass
class SmtpReceiver:
    """Takes every mail, or answers RCPT and DATA as it was told, one by one. "" hangs up after the mail was taken."""

    password: str | None = None
    context: ssl.SSLContext | None = None
    port: int = 0
    rcpt: deque[str] = field(default_factory=deque[str])
    data: deque[str] = field(default_factory=deque[str])
    log: Log = field(default_factory=Log)

    def __post_init__(self) -> None:
        self.port = self.port or free_port()
        self.server = f"127.0.0.1:{self.port}"
        self._controller = Controller(
            self,
            hostname="127.0.0.1",
            port=self.port,
            authenticator=self._authenticate if self.password else None,
            auth_required=self.password is not None,
            auth_require_tls=self.context is not None,
            tls_context=self.context,
            require_starttls=self.context is not None,
        )
        self._controller.start()

    async def handle_RCPT(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: object) -> str:  # noqa: N802
        answer = self.rcpt.popleft() if self.rcpt else "250 OK"
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        answer = self.data.popleft() if self.data else "250 OK"
        if answer.startswith("250") or not answer:
            content = cast(bytes, envelope.content)
            message = cast(EmailMessage, email.message_from_bytes(content, policy=email.policy.default))
            self.log.add(
                Mail(message["Message-ID"], message["Subject"], envelope.mail_from or "", list(envelope.rcpt_tos), message)
            )
        if not answer:
            server.transport.abort()
        return answer or "250 OK"

    def _authenticate(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        return AuthResult(success=data.password == (self.password or "").encode(), handled=False)

    def close(self) -> None:
        if self._controller.server is not None:
            self._controller.stop()


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
