"""Text from elsewhere on its way to a terminal: what would move the cursor, hide or reorder the rest is shown as an escape."""

from __future__ import annotations

import json
from typing import Any

LINES = "\n\t"


def printable(text: str, *, keep: str = "") -> str:
    """With `keep=LINES`, line breaks stay what they are."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def json_line(value: Any) -> str:
    """One line of JSON. Programs read the same value; a terminal sees escapes."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
