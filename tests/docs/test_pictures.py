"""The pictures of the documentation are what their code draws, and all of them are shown."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PICTURES = DOCS / "pictures"


def drawing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_pictures_draw", PICTURES / "draw.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DRAW = drawing()


@pytest.mark.parametrize("name", DRAW.PICTURES)
def test_a_picture_is_what_the_code_draws(name: str) -> None:
    committed = (PICTURES / f"{name}.svg").read_bytes()
    assert committed == DRAW.PICTURES[name]().encode(), "python docs/pictures/draw.py draws it anew"
    ElementTree.fromstring(committed)


def test_there_is_no_other_picture() -> None:
    assert {file.stem for file in PICTURES.glob("*.svg")} == set(DRAW.PICTURES)


def test_every_picture_is_on_a_page() -> None:
    pages = "".join(page.read_text() for page in DOCS.glob("*.md"))
    assert [name for name in DRAW.PICTURES if f"](pictures/{name}.svg)" not in pages] == []
