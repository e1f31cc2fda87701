"""E-mails, against a real SMTP server."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any

import pytest

import headrace as hr
from headrace.effects.smtp import SmtpSender, message_id
from headrace.errors import ConfigError
from headrace.sinks.email import Email
from tests.effects.certificates import Certificates
from tests.effects.conftest import Bench
from tests.effects.receivers import Mail, SmtpReceiver, free_port

Smtp = Callable[..., SmtpReceiver]


def mail(receiver: SmtpReceiver, **options: Any) -> Email:
    return hr.sinks.email(
        **{
            "to": "desk@example.com",
            "subject": "{symbol} moved",
            "server": receiver.server,
            "sender": "hr@example.com",
            **options,
        }
    )


def test_a_row_becomes_an_e_mail(bench: Bench, smtp: Smtp) -> None:
    receiver = smtp()
    effect = mail(
        receiver, sender="Headrace <hr@example.com>", to=["{owner}", "desk@example.com"], body="{symbol}: {price}\n.\nBye"
    )
    row = '{"symbol": "ÄCME", "price": 12345678901234567.10, "owner": "ann@example.com"}'
    assert bench.send(effect, a=row) == {"a": "SENT"}
    (got,) = receiver.log.entries
    assert isinstance(got, Mail)
    assert (got.subject, got.sender, got.to) == ("ÄCME moved", "hr@example.com", ["ann@example.com", "desk@example.com"])
    assert got.message["From"] == "Headrace <hr@example.com>"
    assert got.text == "ÄCME: 12345678901234567.10\n.\nBye\n"
    assert got.message["Auto-Submitted"] == "auto-generated"
    assert got.id == message_id("a", "example.com")


def test_without_a_body_the_columns_are_listed(bench: Bench, smtp: Smtp) -> None:
    receiver = smtp()
    bench.send(mail(receiver, sender=None), a={"symbol": "A", "price": None})
    assert receiver.log.entries[0].text == "symbol: A\nprice: \n"
    assert receiver.log.entries[0].sender.startswith("headrace@")


def test_several_go_over_one_connection_oldest_first(bench: Bench, smtp: Smtp) -> None:
    receiver = smtp()
    rows = {f"r{n}": {"symbol": f"S{n}"} for n in range(20)}
    assert set(bench.send(mail(receiver), **rows).values()) == {"SENT"}
    assert [got.subject for got in receiver.log.entries] == [f"S{n} moved" for n in range(20)]


@pytest.mark.parametrize("text", ["a\r\nBcc: evil@example.com", "a\nb", "a\rb", "a\x00b", "a\u2028b", "a\x85b"])
def test_a_line_break_in_a_header_is_never_sent(bench: Bench, smtp: Smtp, text: str) -> None:
    receiver = smtp()
    assert bench.send(mail(receiver), a={"symbol": text}, b={"symbol": "fine"}) == {"a": "FAILED", "b": "SENT"}
    assert "subject: a header can't have" in bench.cause("a")
    assert [got.subject for got in receiver.log.entries] == ["fine moved"]


@pytest.mark.parametrize(
    "text",
    [
        "a@example.com, b@example.com",
        "a@example.com\r\nBcc: b@example.com",
        "",
        "A <a@example.com>",
        "a@example.com>",
        "ä@example.com",
    ],
)
def test_a_row_brings_one_plain_address_or_it_fails(bench: Bench, smtp: Smtp, text: str) -> None:
    receiver = smtp()
    assert bench.send(mail(receiver, to="{symbol}"), a={"symbol": text}) == {"a": "FAILED"}
    assert "is not an e-mail address" in bench.cause("a")
    assert receiver.log.entries == []


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ('{"other": 1}', "no column 'symbol'"),
        ("[1]", "not a JSON object"),
        ("no json", "not a JSON"),
        ('{"symbol": "\\ud800"}', ""),
    ],
)
def test_a_row_that_can_not_be_written_fails_alone(bench: Bench, smtp: Smtp, row: str, words: str) -> None:
    receiver = smtp()
    assert bench.send(mail(receiver), a=row, b={"symbol": "fine"}) == {"a": "FAILED", "b": "SENT"}
    assert words in bench.cause("a")


def test_what_the_server_refuses_for_good_has_failed(bench: Bench, smtp: Smtp) -> None:
    receiver = smtp()
    receiver.rcpt.append("550 no such user")
    receiver.data += ["554 spam", "250 OK"]
    assert bench.send(mail(receiver), a={"symbol": 1}, b={"symbol": 2}, c={"symbol": 3}) == {
        "a": "FAILED",
        "b": "FAILED",
        "c": "SENT",
    }
    assert bench.cause("a") == "the server answered RCPT TO desk@example.com with 550 no such user"
    assert bench.cause("b") == "the server answered the text with 554 spam"


def test_one_refused_address_of_several_keeps_the_letter_from_all(bench: Bench, smtp: Smtp) -> None:
    receiver = smtp()
    receiver.rcpt += ["250 OK", "550 no such user"]
    assert bench.send(mail(receiver, to=["a@example.com", "b@example.com"]), a={"symbol": 1}, b={"symbol": 2}) == {
        "a": "FAILED",
        "b": "SENT",
    }
    assert [got.to for got in receiver.log.entries] == [["a@example.com", "b@example.com"]]


@pytest.mark.parametrize("on_doubt", ["at_most_once", "at_least_once"])
def test_what_the_server_does_not_take_now_is_tried_again_later(bench: Bench, smtp: Smtp, on_doubt: str) -> None:
    receiver = smtp()
    receiver.rcpt += ["450 greylisted"]
    receiver.data += ["452 no space"]
    effect = mail(receiver, on_doubt=on_doubt)
    bench.insert(effect, a={"symbol": "A"}, b={"symbol": "B"}, c={"symbol": "C"})
    dispatcher = bench.start(effect)
    assert dispatcher.wait_idle(20)
    assert [got.subject for got in receiver.log.entries] == ["C moved"]
    assert "450 greylisted" in bench.cause("a")
    assert "452 no space" in bench.cause("b")
    bench.clock.pass_by(2)
    assert dispatcher.wait_idle(20)
    assert [got.subject for got in receiver.log.entries] == ["C moved", "A moved", "B moved"]


def test_a_connection_that_breaks_after_the_text_is_doubt(bench: Bench, smtp: Smtp) -> None:
    receiver = smtp()
    receiver.data.append("")
    assert bench.send(mail(receiver), a={"symbol": "A"}, b={"symbol": "B"}) == {"a": "UNKNOWN", "b": "SENT"}
    assert bench.cause("a").startswith("the connection broke after the text was sent: ")
    assert [got.subject for got in receiver.log.entries] == ["A moved", "B moved"]


def test_an_answer_that_is_none_is_doubt(bench: Bench, smtp: Smtp) -> None:
    receiver = smtp()
    receiver.data.append("hello there")
    assert bench.send(mail(receiver), a={"symbol": "A"}, b={"symbol": "B"}) == {"a": "UNKNOWN", "b": "SENT"}


def test_a_server_that_is_closing_is_waited_for(bench: Bench, smtp: Smtp) -> None:
    receiver = smtp()
    receiver.rcpt.append("421 closing")
    effect = mail(receiver)
    bench.insert(effect, a={"symbol": "A"}, b={"symbol": "B"})
    dispatcher = bench.start(effect)
    assert dispatcher.wait_idle(20)
    assert (bench.state("a"), bench.state("b")) == ("PENDING", "PENDING")
    bench.clock.pass_by(2)
    assert dispatcher.wait_idle(20)
    assert [got.subject for got in receiver.log.entries] == ["A moved", "B moved"]


def test_at_least_once_sends_a_doubtful_one_again_with_the_same_message_id(bench: Bench, smtp: Smtp) -> None:
    receiver = smtp()
    receiver.data.append("")
    effect = mail(receiver, on_doubt="at_least_once")
    bench.insert(effect, a={"symbol": "A"})
    dispatcher = bench.start(effect)
    assert dispatcher.wait_idle(20)
    assert bench.state("a") == "PENDING"
    bench.clock.pass_by(2)
    assert dispatcher.wait_idle(20)
    assert bench.state("a") == "SENT"
    assert [got.id for got in receiver.log.entries] == [message_id("a", "example.com")] * 2


@pytest.mark.parametrize("on_doubt", ["at_most_once", "at_least_once"])
def test_a_server_that_is_gone_is_waited_for_and_costs_no_row_an_attempt(bench: Bench, smtp: Smtp, on_doubt: str) -> None:
    port = free_port()
    effect = hr.sinks.email(
        to="a@example.com", subject="{symbol}", server=f"127.0.0.1:{port}", retries=0, on_doubt=on_doubt, name="mail"
    )
    bench.insert(effect, a={"symbol": "A"}, b={"symbol": "B"})
    dispatcher = bench.start(effect)
    for _ in range(5):
        assert dispatcher.wait_idle(20)
        assert dispatcher.waiting() == {"mail": 2}
        bench.clock.pass_by(60)
    assert bench.said[0].startswith(f"effect mail waits for its receiver: 127.0.0.1:{port}: ConnectionRefusedError")
    receiver = smtp(port=port)
    bench.clock.pass_by(60)
    assert dispatcher.wait_idle(20)
    assert [got.subject for got in receiver.log.entries] == ["A", "B"]
    assert len(bench.said) == 2
    assert bench.said[1] == "effect mail works again after 5 failed attempts"
    entry = bench.outbox.find("a")
    assert entry is not None
    assert entry.attempts == 1


def test_a_kept_connection_that_the_server_has_closed_is_no_doubt(bench: Bench, smtp: Smtp) -> None:
    receiver = smtp()
    effect = mail(receiver)
    bench.insert(effect, a={"symbol": "A"})
    dispatcher = bench.start(effect)
    assert dispatcher.wait_idle(20)
    receiver.close()
    again = smtp(port=receiver.port)
    bench.insert(effect, b={"symbol": "B"})
    assert dispatcher.wait_idle(20)
    assert bench.state("b") == "SENT"
    assert [got.subject for got in again.log.entries] == ["B moved"]


def test_the_password_is_used_over_tls_and_shown_nowhere(
    bench: Bench, smtp: Smtp, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMTP_PASSWORD", "hunter2-hunter2")
    receiver = smtp(password="hunter2-hunter2", context=certificates.server("localhost"))
    effect = mail(
        receiver,
        server=f"localhost:{receiver.port}",
        user="me",
        password=hr.secret("SMTP_PASSWORD"),
        tls="starttls",
    )
    trust(monkeypatch, certificates.client())
    assert bench.send(effect, a={"symbol": "A"}) == {"a": "SENT"}
    monkeypatch.setenv("SMTP_PASSWORD", "wrong-wrong")
    assert bench.send(effect, b={"symbol": "B"}) == {"b": "PENDING"}
    assert "535" in bench.cause("b")
    everything = " ".join(bench.said).encode() + b"".join(each.read_bytes() for each in bench.file.parent.iterdir())
    assert b"hunter2" not in everything
    assert b"wrong-wrong" not in everything


def test_a_certificate_that_is_not_trusted_stops_everything(
    bench: Bench, smtp: Smtp, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = smtp(context=certificates.server("localhost"))
    effect = mail(receiver, server=f"localhost:{receiver.port}", tls="starttls")
    assert bench.send(effect, a={"symbol": "A"}) == {"a": "PENDING"}
    assert "CERTIFICATE_VERIFY_FAILED" in bench.cause("a")


def test_starttls_is_never_left_out(bench: Bench, smtp: Smtp) -> None:
    receiver = smtp()
    assert bench.send(mail(receiver, tls="starttls"), a={"symbol": "A"}) == {"a": "PENDING"}
    assert "STARTTLS" in bench.cause("a")
    assert receiver.log.entries == []


def test_a_missing_password_is_reported_before_anything_runs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SMTP_PASSWORD", raising=False)
    effect = hr.sinks.email(
        to="a@example.com", subject="x", server="smtp.example.com:587", user="me", password=hr.secret("SMTP_PASSWORD")
    )
    with pytest.raises(ConfigError, match="SMTP_PASSWORD is not set"):
        bench.start(effect)


def trust(monkeypatch: pytest.MonkeyPatch, context: ssl.SSLContext) -> None:
    monkeypatch.setattr(Email, "sender", lambda self: SmtpSender(self, context=lambda: context))
