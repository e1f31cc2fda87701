"""Passwords and keys: named in the program, read when they are needed, shown nowhere."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import ConfigError, PlanError, Where
from headrace.plan import spelling
from headrace.plan.callsite import call_site

MASK = "********"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """Where a secret is found. The value itself is never stored, so neither the text nor a copy of this can reveal it."""

    env: str | None = None
    file: str | None = None
    prefix: str = ""

    def __repr__(self) -> str:
        place = repr(self.env) if self.env is not None else f"file={self.file!r}"
        return f"hr.secret({place}{f', prefix={self.prefix!r}' if self.prefix else ''})"

    def value(self) -> str:
        """The secret as it is now; ConfigError if it is missing."""
        return self.prefix + (self._variable(self.env) if self.env is not None else self._content(self.file or ""))

    def _variable(self, name: str) -> str:
        found = os.environ.get(name)
        if not found:
            raise ConfigError(
                f"the environment variable {name} is {'not set' if found is None else 'empty'}", fix=f"set {name} to the secret"
            )
        return found

    def _content(self, name: str) -> str:
        try:
            found = Path(name).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as e:
            why = (e.strerror or type(e).__name__) if isinstance(e, OSError) else "it is not UTF-8 text"
            # Not `from e`: the error of a text that can't be decoded holds the text.
            raise ConfigError(f"the secret file {name} can't be read: {why}", fix="put the secret there, as text") from None
        if not found:
            raise ConfigError(f"the secret file {name} is empty", fix="put the secret there, as text")
        return found


@spelling.arguments
def secret(env: str | None = None, *, file: str | os.PathLike[str] | None = None, prefix: str = "") -> Secret:
    """A secret of the environment, `hr.secret("SMTP_PASSWORD")`, or of a file, `hr.secret(file="/run/secrets/smtp")`.

    `prefix` is put before it: `hr.secret("API_TOKEN", prefix="Bearer ")`.
    """
    where = call_site().where
    if (env is None) == (file is None):
        raise PlanError(
            "a secret is in one place: a variable or a file",
            where=where,
            fix='write hr.secret("NAME") or hr.secret(file="/run/secrets/name")',
        )
    if env is not None and not _NAME.fullmatch(str(env)):
        # Neither the text nor the line is shown: somebody may have written the secret itself.
        raise PlanError(
            "hr.secret takes the name of an environment variable, and this is not one",
            where=Where(where.file, where.line),
            fix='put the secret into a variable and write hr.secret("ITS_NAME")',
        )
    return Secret(env, None if file is None else os.fspath(file), prefix)


def checked(value: object, what: str, where: Where) -> Secret | None:
    """An argument that must be a secret, or nothing."""
    if value is None or isinstance(value, Secret):
        return value
    raise PlanError(
        f"{what}= must be a secret, not the text itself",
        where=Where(where.file, where.line),
        fix=f'put it into an environment variable and write {what}=hr.secret("{what.upper()}")',
    )


def redacted(text: str, secrets: tuple[Secret, ...]) -> str:
    """The text without the secrets: a server may repeat what it was sent."""
    for one in secrets:
        try:
            whole = one.value()
        except ConfigError:
            continue
        for shown in (whole, whole.removeprefix(one.prefix)):
            text = text.replace(shown, MASK)
    return text
