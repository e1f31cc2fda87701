"""How records are encoded as bytes, one module per format. A name is short for its value: "json" for `json()`."""

from typing import TYPE_CHECKING

from headrace.errors import PlanError, Where
from headrace.formats.bytes import bytes
from headrace.formats.json import json
from headrace.formats.text import text
from headrace.plan import checks
from headrace.plan.format import Format

__all__ = ["bytes", "json", "text"]

_BY_NAME = {made().name: made for made in (json, text, bytes)}


def of(format: str | Format, where: Where, *, argument: str = "format") -> Format:
    """A value, or the name of one that needs no arguments."""
    if isinstance(format, Format):
        return format
    if not isinstance(format, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(f"{argument}={format!r} is not a format", where=where, fix=f'write {argument}="json"')
    checks.one_of(argument, format, tuple(_BY_NAME), where)
    return _BY_NAME[format]()


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from headrace.plan import habits, spelling

        raise spelling.missing("hr.formats", name, __all__, habits.FORMATS)
