"""What the values of hr.sinks accept, and how they refuse the rest at the user's line."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import headrace as hr
from headrace.effects.effect import Effect
from headrace.errors import PlanError

PASSWORD = hr.secret("SMTP_PASSWORD")


def tell(row: dict[str, Any], id: str) -> None: ...


def mail(**options: Any) -> Effect:
    return hr.sinks.email(**{"to": "desk@example.com", "subject": "{symbol} moved", **options})


def hook(url: Any = "https://example.com/hook", **options: Any) -> Effect:
    return hr.sinks.webhook(url, **options)


def test_effects_are_values() -> None:
    for make in (mail, hook, lambda: hr.sinks.call(tell)):
        assert make() == make()
        assert hash(make()) == hash(make())
        with pytest.raises(dataclasses.FrozenInstanceError):
            make().name = "other"  # pyright: ignore


def test_names_come_of_what_the_effect_is_about_and_stay_when_the_rest_changes() -> None:
    assert mail().name == mail(body="{price}", rate="1 per day", server="smtp.example.com:587").name
    assert mail().name != mail(to="other@example.com").name
    assert hook().name == hook(headers={"X-Team": "desk"}).name
    assert hook().name != hook("https://example.com/other").name
    assert hr.sinks.call(tell).name == "tell"
    assert mail(name="alarm").name == "alarm"


def test_the_columns_are_those_of_all_templates() -> None:
    effect = mail(to=["{owner}", "desk@example.com"], body="{price} {symbol}", id="{order_id}")
    assert effect.columns == ("order_id", "owner", "symbol", "price")
    assert hook(id="{a}-{b}").columns == ("a", "b")
    assert hook().columns == ()


def test_the_id_of_a_row_is_the_effects_name_and_what_the_template_gives() -> None:
    assert mail(name="alarm", id="{order_id}").row_id == (("alarm:", None), ("", "order_id"))
    assert mail().row_id is None


def test_tls_is_left_out_only_where_the_server_is_this_machine() -> None:
    assert hr.sinks.email(to="a@b.example", subject="x").tls == "none"
    assert hr.sinks.email(to="a@b.example", subject="x", server="[::1]:25").tls == "none"
    assert hr.sinks.email(to="a@b.example", subject="x", server="smtp.example.com:587").tls == "starttls"


@pytest.mark.parametrize(
    ("make", "message", "fix"),
    [
        (
            lambda: mail(to="desk"),
            "to='desk' is not an e-mail address",
            'write to="desk@example.com", to=["a@example.com", "b@example.com"] or to="{column}"',
        ),
        (
            lambda: mail(to="a@example.com, b@example.com"),
            "to='a@example.com, b@example.com' is not an e-mail address",
            'write to="desk@example.com", to=["a@example.com", "b@example.com"] or to="{column}"',
        ),
        (
            lambda: mail(to="Desk <desk@example.com>"),
            "to='Desk <desk@example.com>' is not an e-mail address",
            'write to="desk@example.com", to=["a@example.com", "b@example.com"] or to="{column}"',
        ),
        (lambda: mail(to=[]), "the e-mail has no recipients", 'write to="desk@example.com"'),
        (
            lambda: mail(subject="a\nBcc: b@example.com"),
            "subject= has a line break or another control character in it",
            "write one line of text",
        ),
        (
            lambda: mail(subject="{a.b}"),
            "subject= has {a.b} in it, which is not a column in braces",
            "braces hold the plain name of a column, {symbol}; compute the rest with with_columns; {{ is a brace",
        ),
        (
            lambda: mail(body="{a!r}"),
            "body= has {a!r} in it, which is not a column in braces",
            "braces hold the plain name of a column, {symbol}; compute the rest with with_columns; {{ is a brace",
        ),
        (
            lambda: mail(sender="a@b.example, c@d.example"),
            "sender='a@b.example, c@d.example' is not an address",
            'write sender="Desk <desk@example.com>"; it is not a template',
        ),
        (
            lambda: mail(sender="desk\r\nBcc: x@y.example"),
            "sender='desk\\r\\nBcc: x@y.example' is not an address",
            'write sender="Desk <desk@example.com>"; it is not a template',
        ),
        (
            lambda: mail(server="smtp.example.com"),
            "server='smtp.example.com' is not an address",
            'write server="smtp.example.com:587"',
        ),
        (
            lambda: mail(server="smtp.example.com:99999"),
            "server='smtp.example.com:99999' is not an address",
            'write server="smtp.example.com:587"',
        ),
        (lambda: mail(tls="maybe"), "tls='maybe' is not known", "tls is one of: 'starttls', 'tls', 'none'"),
        (lambda: mail(user="me"), "user= and password= go together", "write both, or neither"),
        (
            lambda: mail(server="smtp.example.com:25", user="me", password=PASSWORD, tls="none"),
            "the password would cross the network in plain text",
            'write tls="starttls" or tls="tls"',
        ),
        (
            lambda: mail(on_doubt="exactly_once"),
            "on_doubt='exactly_once' is not known",
            "on_doubt is one of: 'at_most_once', 'at_least_once'",
        ),
        (lambda: mail(rate="often"), "rate='often' is not a rate", 'write rate="10 per minute" or "1 per 5 seconds"'),
        (lambda: mail(retries=-1), "retries=-1 is not a number of retries", "write retries=20, or 0 for none"),
        (lambda: mail(id="same"), "id='same' is the same for every row", 'name a column: id="{order_id}"'),
        (lambda: mail(name="a b"), "'a b' can't be the name of the effect", "use letters, digits, '.', '_' and '-'"),
        (
            lambda: hook("ftp://example.com"),
            "the webhook's URL can't be used: it does not begin with https:// or http://",
            'write webhook("https://example.com/hook")',
        ),
        (
            lambda: hook("https:///hook"),
            "the webhook's URL can't be used: it names no host",
            'write webhook("https://example.com/hook")',
        ),
        (
            lambda: hook("https://example.com/a b"),
            "the webhook's URL can't be used: it contains spaces, control characters or letters that must be encoded",
            'write webhook("https://example.com/hook")',
        ),
        (
            lambda: hook("https://example.com/\r\nX: y"),
            "the webhook's URL can't be used: it contains spaces, control characters or letters that must be encoded",
            'write webhook("https://example.com/hook")',
        ),
        (
            lambda: hook("https://example.com/#part"),
            "the webhook's URL can't be used: it has a part after #, which is never sent",
            'write webhook("https://example.com/hook")',
        ),
        (
            lambda: hook("http://example.com:port/"),
            "the webhook's URL can't be used: Port could not be cast to integer value as 'port'",
            'write webhook("https://example.com/hook")',
        ),
        (lambda: hook(5), "the webhook's URL is not text", 'write webhook("https://example.com/hook")'),
        (
            lambda: hook("http://127.0.0.1/hook"),
            "127.0.0.1 is on a private network or this machine",
            "write private=True, if you mean it",
        ),
        (
            lambda: hook("http://localhost/hook"),
            "localhost is on a private network or this machine",
            "write private=True, if you mean it",
        ),
        (
            lambda: hook("http://[::1]/hook"),
            "::1 is on a private network or this machine",
            "write private=True, if you mean it",
        ),
        (
            lambda: hook("http://169.254.169.254/latest"),
            "169.254.169.254 is on a private network or this machine",
            "write private=True, if you mean it",
        ),
        (lambda: hook(headers={"X Y": "z"}), "'X Y' is not the name of a header", 'write headers={"X-Team": "desk"}'),
        (lambda: hook(headers={"X": "a\r\nY: z"}), "the header X is not one line of ASCII", 'write headers={"X-Team": "desk"}'),
        (
            lambda: hook(headers={"Idempotency-Key": "1"}),
            "the header Idempotency-Key is set by Headrace itself",
            "leave it out",
        ),
        (
            lambda: hook(timeout="soon"),
            "timeout='soon' is not a duration",
            'write "5 minutes", "1 hour 30 minutes", "250 ms" or a timedelta',
        ),
        (lambda: hr.sinks.call(5), "5 is not a function", "write def notify(row, id): …, and then call(notify)"),  # pyright: ignore
        (
            lambda: hr.sinks.call(lambda row, key: None),
            "a function without a name needs name=",
            'write call(…, name="notify-desk")',
        ),
    ],
)
def test_what_can_not_be_is_refused_at_its_line(make: Callable[[], object], message: str, fix: str) -> None:
    with pytest.raises(PlanError) as e:
        make()
    assert (e.value.message, e.value.fix) == (message, fix)
    assert e.value.where is not None
    assert e.value.where.file.endswith("test_sinks.py")


@pytest.mark.parametrize("effect", [mail(id="{symbol}"), hook(), hr.sinks.call(tell)], ids=["email", "webhook", "call"])
def test_a_table_is_not_sent_update_by_update_without_a_word(effect: Effect) -> None:
    trades = hr.App("market").stream("trades", schema="symbol string, price double").key_by("symbol")
    with pytest.raises(PlanError) as e:
        trades.agg(high="max(price)").to(effect)
    assert e.value.message == f"{effect.name} would send every update of this table"
    assert e.value.fix == 'send each window once: window(…, emit="final"); or every change: table.changes().to(…)'
    trades.agg(high="max(price)").changes().to(effect)


def test_a_secret_in_the_program_is_refused_and_not_shown() -> None:
    for make in (
        lambda: mail(user="me", password="hunter2"),
        lambda: hook(sign="hunter2"),
        lambda: hook(headers={"Authorization": "Bearer hunter2"}),
        lambda: hook("https://me:hunter2@example.com/"),
    ):
        with pytest.raises(PlanError) as e:
            make()
        assert "hunter2" not in str(e.value)
        assert "hr.secret" in str(e.value)


def test_effects_have_no_secret_in_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMTP_PASSWORD", "hunter2")
    for effect in (
        mail(user="me", password=PASSWORD),
        hook(PASSWORD, sign=PASSWORD, headers={"Authorization": PASSWORD}),
    ):
        assert effect.secrets
        assert "hunter2" not in repr(effect)


def test_declaring_effects_loads_no_client_and_no_spark() -> None:
    program = (
        "import sys, headrace as hr\n"
        "hr.sinks.email(to='a@b.example', subject='x'); hr.sinks.webhook('https://example.com')\n"
        "print([m for m in ('pyspark', 'smtplib', 'http.client', 'sqlite3', 'ssl') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
