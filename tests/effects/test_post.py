"""Webhook calls, against a real HTTP server."""

from __future__ import annotations

import hashlib
import hmac
import socket
import ssl
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

import headrace as hr
from headrace.effects import addresses
from headrace.effects.effect import Away, Doubt, Item, Later, Outcome, Refused, Sent
from headrace.effects.post import PostSender, header_value, judge, signature
from headrace.errors import ConfigError
from headrace.sinks.webhook import Webhook
from tests.effects.certificates import Certificates
from tests.effects.conftest import Bench
from tests.effects.receivers import HttpReceiver, Request, free_port, hang_up


def hook(receiver: HttpReceiver, **options: Any) -> Webhook:
    return hr.sinks.webhook(receiver.url, private=True, **options)


def test_a_row_is_posted_as_it_is(bench: Bench, http: HttpReceiver) -> None:
    row = '{"symbol":"ÄCME","price":12345678901234567.10}'
    assert bench.send(hook(http, headers={"X-Team": "desk"}), a=row) == {"a": "SENT"}
    (got,) = http.log.entries
    assert isinstance(got, Request)
    assert got.body == row.encode()
    assert got.key == "a"
    assert got.headers["content-type"] == "application/json"
    assert got.headers["x-team"] == "desk"
    assert got.headers["host"] == f"127.0.0.1:{http.port}"
    assert got.headers["user-agent"].startswith("headrace/")
    assert "headrace-signature" not in got.headers


def test_many_go_over_one_connection_oldest_first(bench: Bench, http: HttpReceiver) -> None:
    rows = {f"r{n}": {"n": n} for n in range(100)}
    assert set(bench.send(hook(http), **rows).values()) == {"SENT"}
    assert [got.row["n"] for got in http.log.entries] == list(range(100))
    assert http.connections == 1


def test_a_receiver_can_check_the_signature(bench: Bench, http: HttpReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_KEY", "whsec_123")
    bench.send(hook(http, sign=hr.secret("HOOK_KEY")), a={"n": 1})
    (got,) = http.log.entries
    said = dict(part.split("=", 1) for part in got.headers["headrace-signature"].split(","))
    expected = hmac.new(b"whsec_123", said["t"].encode() + b"." + got.body, hashlib.sha256).hexdigest()
    assert said["v1"] == expected
    assert b"whsec_123" not in b"".join(each.read_bytes() for each in bench.file.parent.iterdir())


def test_the_signature_is_that_of_the_documentation() -> None:
    # printf '1700000000.{}' | openssl dgst -sha256 -hmac key
    assert signature("key", b"{}", 1_700_000_000) == (
        "t=1700000000,v1=" + hmac.new(b"key", b"1700000000.{}", hashlib.sha256).hexdigest()
    )


def test_an_id_can_not_bring_headers_and_two_ids_never_become_one(bench: Bench, http: HttpReceiver) -> None:
    ids = ["plain:1/2", "a\r\nX-Evil: 1", "a%0D%0AX-Evil:%201", "ä", "a b", "\ud800"]
    assert len({header_value(id) for id in ids}) == len(ids)
    assert header_value("plain:1/2") == "plain:1/2"
    effect = hook(http)
    bench.outbox.insert(effect.name, [(id, "{}") for id in ids[:-1]], now=0)
    dispatcher = bench.start(effect)
    assert dispatcher.wait_idle(20)
    assert [got.key for got in http.log.entries] == [header_value(id) for id in ids[:-1]]
    assert not any("x-evil" in got.headers for got in http.log.entries)


@pytest.mark.parametrize(
    ("status", "retry_after", "outcome"),
    [
        (200, None, Sent()),
        (202, None, Sent()),
        (204, None, Sent()),
        (301, None, Refused),
        (303, None, Refused),
        (400, None, Refused),
        (401, None, Refused),
        (404, None, Refused),
        (410, None, Refused),
        (422, None, Refused),
        (408, None, Later),
        (425, None, Later),
        (429, None, Away),
        (429, "30", Away),
        (503, "30", Away),
        (503, None, Doubt),
        (409, None, Doubt),
        (500, None, Doubt),
        (502, None, Doubt),
        (504, None, Doubt),
        (101, None, Doubt),
        (999, None, Doubt),
    ],
)
def test_an_answer_decides(status: int, retry_after: str | None, outcome: Outcome | type[Outcome]) -> None:
    found = judge(status, retry_after, "", 0.0)
    assert found == outcome or type(found) is outcome
    if not isinstance(found, Sent):
        assert f"answered {status}" in found.cause


def test_retry_after_is_seconds_or_a_date_and_has_a_bound() -> None:
    for text, seconds in (
        ("30", 30.0),
        (formatdate(1060, usegmt=True), 60.0),
        ("99999999", 3600.0),
        ("soon", 0.0),
        ("-5", 0.0),
    ):
        assert judge(429, text, "", 1000.0) == Away("the receiver answered 429 Too Many Requests", seconds)


def test_a_receiver_that_asks_to_wait_is_left_alone_for_so_long(bench: Bench, http: HttpReceiver) -> None:
    http.answers.append((429, {"Retry-After": "30"}))
    effect = hook(http)
    bench.insert(effect, a={"n": 1}, b={"n": 2})
    dispatcher = bench.start(effect)
    assert dispatcher.wait_idle(20)
    bench.clock.pass_by(29)
    assert dispatcher.wait_idle(20)
    assert [got.key for got in http.log.entries] == ["a"]
    bench.clock.pass_by(1.1)
    assert dispatcher.wait_idle(20)
    assert [got.key for got in http.log.entries] == ["a", "a", "b"]


def test_redirects_are_not_followed(bench: Bench, http: HttpReceiver) -> None:
    http.answers.append((307, {"Location": http.url}))
    assert bench.send(hook(http), a={"n": 1}) == {"a": "FAILED"}
    assert "307 Temporary Redirect: ok: redirects are not followed" in bench.cause("a")
    assert len(http.log.entries) == 1


@pytest.mark.parametrize("answer", [500, hang_up])
def test_doubt_is_sent_again_with_the_same_key(bench: Bench, http: HttpReceiver, answer: Any) -> None:
    http.answers.append(answer)
    effect = hook(http)
    bench.insert(effect, a={"n": 1})
    dispatcher = bench.start(effect)
    assert dispatcher.wait_idle(20)
    assert bench.state("a") == "PENDING"
    bench.clock.pass_by(2)
    assert dispatcher.wait_idle(20)
    assert bench.state("a") == "SENT"
    assert [got.key for got in http.log.entries] == ["a", "a"]


@pytest.mark.parametrize("answer", [500, hang_up])
def test_doubt_is_unknown_where_it_may_not_go_twice(bench: Bench, http: HttpReceiver, answer: Any) -> None:
    http.answers.append(answer)
    assert bench.send(hook(http, on_doubt="at_most_once"), a={"n": 1}, b={"n": 2}) == {"a": "UNKNOWN", "b": "SENT"}
    assert [got.key for got in http.log.entries] == ["a", "b"]


def test_a_receiver_that_does_not_answer_in_time_is_doubt(bench: Bench, http: HttpReceiver) -> None:
    http.answers.append(lambda handler: handler.connection.recv(1))
    effect = hook(http, on_doubt="at_most_once", timeout="100 ms")
    assert bench.send(effect, a={"n": 1}) == {"a": "UNKNOWN"}
    assert "timed out" in bench.cause("a")


def test_an_answer_that_breaks_off_after_its_status_has_decided(bench: Bench, http: HttpReceiver) -> None:
    def half(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nok")
        handler.wfile.flush()
        hang_up(handler)

    http.answers.append(half)
    assert bench.send(hook(http, on_doubt="at_most_once"), a={"n": 1}, b={"n": 2}) == {"a": "SENT", "b": "SENT"}


def test_a_kept_connection_that_the_receiver_has_closed_is_no_doubt(bench: Bench, http: HttpReceiver) -> None:
    closed = socket.socketpair()

    def answer_and_close(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        handler.wfile.flush()
        hang_up(handler)
        closed[0].send(b"x")

    effect = hook(http, on_doubt="at_most_once")
    http.answers.append(answer_and_close)
    bench.insert(effect, a={"n": 1})
    dispatcher = bench.start(effect)
    assert dispatcher.wait_idle(20)
    closed[1].recv(1)
    bench.insert(effect, b={"n": 2})
    assert dispatcher.wait_idle(20)
    assert (bench.state("a"), bench.state("b"), http.connections) == ("SENT", "SENT", 2)
    for end in closed:
        end.close()


def test_a_row_that_is_no_json_fails_alone(bench: Bench, http: HttpReceiver) -> None:
    assert bench.send(hook(http), a="no json", b={"n": 1}) == {"a": "FAILED", "b": "SENT"}


def test_secrets_travel_and_are_shown_nowhere(bench: Bench, http: HttpReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_URL", http.url + "?token=hunter2-hunter2")
    monkeypatch.setenv("TOKEN", "hunter3-hunter3")

    def echo(handler: BaseHTTPRequestHandler) -> None:
        text = f"bad {handler.path} {handler.headers['Authorization']}".encode()
        handler.wfile.write(b"HTTP/1.1 400 Bad\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))

    http.answers.append(echo)
    effect = hr.sinks.webhook(
        hr.secret("HOOK_URL"), headers={"Authorization": hr.secret("TOKEN", prefix="Bearer ")}, private=True, name="hook"
    )
    assert bench.send(effect, a={"n": 1}) == {"a": "FAILED"}
    (got,) = http.log.entries
    assert got.headers["authorization"] == "Bearer hunter3-hunter3"
    everything = repr(effect).encode() + " ".join(bench.said).encode()
    everything += b"".join(each.read_bytes() for each in bench.file.parent.iterdir())
    assert b"hunter3" not in everything
    assert b"hunter2" not in everything
    assert bench.cause("a") == "the receiver answered 400 Bad Request"


def test_a_secret_that_can_not_be_used_is_reported_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_URL", "hunter2 hunter2")
    with pytest.raises(ConfigError, match="HOOK_URL") as e:
        hr.sinks.webhook(hr.secret("HOOK_URL")).sender()
    assert "hunter2" not in str(e.value)
    monkeypatch.setenv("TOKEN", "hunter2\nhunter2")
    sender = hr.sinks.webhook("https://example.com", headers={"Authorization": hr.secret("TOKEN")}).sender()
    outcome = sender.send(Item("a", "{}"))
    assert isinstance(outcome, Away)
    assert "hunter2" not in outcome.cause
    monkeypatch.delenv("TOKEN")
    assert sender.send(Item("a", "{}")) == Away("the environment variable TOKEN is not set")


class Names:
    """A name service that counts, and may answer otherwise each time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = 0
        self.answers: list[list[str]] = []
        monkeypatch.setattr(addresses.socket, "getaddrinfo", self.look_up)

    def look_up(self, host: str, port: int, *args: Any, **options: Any) -> list[Any]:
        found = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    return Names(monkeypatch)


def test_a_name_that_leads_to_a_private_address_is_refused(bench: Bench, http: HttpReceiver, names: Names) -> None:
    names.answers = [["127.0.0.1"]]
    effect = hr.sinks.webhook(f"http://hooks.test:{http.port}/", name="hook")
    assert bench.send(effect, a={"n": 1}) == {"a": "PENDING"}
    assert "hooks.test leads to a private address (127.0.0.1), and private=True is not set" in bench.cause("a")
    assert "private=True is not set" in bench.said[0]
    assert http.connections == 0


def test_the_connection_goes_to_the_address_that_was_checked(
    bench: Bench, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    inside, outside = HttpReceiver(host="127.0.0.1", port=port), HttpReceiver(host="127.0.0.2", port=port)
    monkeypatch.setattr(addresses, "public", lambda address: str(address) == "127.0.0.2")
    names.answers = [["127.0.0.1", "127.0.0.2"], ["127.0.0.1"]]
    effect = hr.sinks.webhook(f"http://hooks.test:{port}/")
    assert bench.send(effect, a={"n": 1}) == {"a": "SENT"}
    assert (inside.connections, outside.connections, names.asked) == (0, 1, 1)
    assert bench.send(effect, b={"n": 1}) == {"b": "PENDING"}
    assert (inside.connections, outside.connections, names.asked) == (0, 1, 2)
    assert outside.log.entries[0].headers["host"] == f"hooks.test:{port}"
    inside.close()
    outside.close()


def test_https_verifies_the_name_and_not_the_address(
    bench: Bench, names: Names, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    names.answers = [["127.0.0.1"]]
    client: ssl.SSLContext = certificates.client()
    monkeypatch.setattr(Webhook, "sender", lambda self: PostSender(self, context=lambda: client))
    right, wrong = (HttpReceiver(context=certificates.server(name)) for name in ("hooks.test", "other.test"))
    for receiver, state in ((right, "SENT"), (wrong, "PENDING")):
        effect = hr.sinks.webhook(f"https://hooks.test:{receiver.port}/", private=True)
        assert bench.send(effect, **{state: {"n": 1}}) == {state: state}
    assert "certificate is not valid for 'hooks.test'" in bench.cause("PENDING")
    assert [len(receiver.log.entries) for receiver in (right, wrong)] == [1, 0]
    right.close()
    wrong.close()
