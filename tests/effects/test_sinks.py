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
    ("make", "words"),
    [
        (lambda: mail(to="desk"), "to='desk' is not an e-mail address"),
        (lambda: mail(to="a@example.com, b@example.com"), "is not an e-mail address"),
        (lambda: mail(to="Desk <desk@example.com>"), "is not an e-mail address"),
        (lambda: mail(to=[]), "goes to nobody"),
        (lambda: mail(subject="a\nBcc: b@example.com"), "line break"),
        (lambda: mail(subject="{a.b}"), "no column in braces"),
        (lambda: mail(body="{a!r}"), "no column in braces"),
        (lambda: mail(sender="a@b.example, c@d.example"), "sender="),
        (lambda: mail(sender="desk\r\nBcc: x@y.example"), "sender="),
        (lambda: mail(server="smtp.example.com"), "server="),
        (lambda: mail(server="smtp.example.com:99999"), "server="),
        (lambda: mail(tls="maybe"), "tls='maybe' is not known"),
        (lambda: mail(user="me"), "go together"),
        (lambda: mail(server="smtp.example.com:25", user="me", password=PASSWORD, tls="none"), "for everybody to read"),
        (lambda: mail(on_doubt="exactly_once"), "on_doubt='exactly_once' is not known"),
        (lambda: mail(rate="often"), "is not a rate"),
        (lambda: mail(retries=-1), "retries=-1"),
        (lambda: mail(id="same"), "the same for every row"),
        (lambda: mail(name="a b"), "can't be the name of the effect"),
        (lambda: hook("ftp://example.com"), "does not begin with https://"),
        (lambda: hook("https:///hook"), "names no host"),
        (lambda: hook("https://example.com/a b"), "must be encoded"),
        (lambda: hook("https://example.com/\r\nX: y"), "must be encoded"),
        (lambda: hook("https://example.com/#part"), "after #"),
        (lambda: hook("http://example.com:port/"), "can't be used"),
        (lambda: hook(5), "is not a text"),
        (lambda: hook("http://127.0.0.1/hook"), "127.0.0.1 is on a private network or this machine"),
        (lambda: hook("http://localhost/hook"), "localhost is on a private network"),
        (lambda: hook("http://[::1]/hook"), "::1 is on a private network"),
        (lambda: hook("http://169.254.169.254/latest"), "private network"),
        (lambda: hook(headers={"X Y": "z"}), "is not the name of a header"),
        (lambda: hook(headers={"X": "a\r\nY: z"}), "not one line"),
        (lambda: hook(headers={"Idempotency-Key": "1"}), "set by Headrace itself"),
        (lambda: hook(timeout="soon"), "is not a duration"),
        (lambda: hr.sinks.call(5), "is not a function"),  # pyright: ignore
        (lambda: hr.sinks.call(lambda row, key: None), "needs one here"),
    ],
)
def test_what_can_not_be_is_refused_at_its_line(make: Callable[[], object], words: str) -> None:
    with pytest.raises(PlanError) as e:
        make()
    assert words in str(e.value)
    assert e.value.where is not None
    assert e.value.where.file.endswith("test_sinks.py")
    assert e.value.fix


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
