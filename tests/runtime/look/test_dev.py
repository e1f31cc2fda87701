"""What `headrace dev` notices, and what it loads anew; the command itself is in tests/cli."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.errors import PlanError
from headrace.runtime.load import forget, load, local_modules
from headrace.runtime.look.dev import _Saves


@pytest.fixture
def target(tmp_path: Path) -> Iterator[str]:
    path = list(sys.path)
    (tmp_path / "prices.py").write_text("LIMIT = 1\n")
    file = tmp_path / "shop_app.py"
    file.write_text('import headrace as hr\nimport prices\n\napp = hr.App(f"shop{prices.LIMIT}")\n')
    yield str(file)
    forget(str(file))
    sys.path[:] = path


def test_a_module_beside_the_file_is_loaded_anew(target: str) -> None:
    assert load(target).name == "shop1"
    assert set(local_modules(target)) == {"headrace_app", "prices"}
    (Path(target).parent / "prices.py").write_text("LIMIT = 22\n")
    assert load(target).name == "shop1"
    forget(target)
    assert load(target).name == "shop22"


def test_a_syntax_error_is_shown_where_it_is_even_in_a_module_beside_the_file(target: str) -> None:
    module = Path(target).parent / "prices.py"
    module.write_text("LIMIT = 1\nLIMIT = (\n")
    with pytest.raises(PlanError, match="can't be loaded: SyntaxError") as caught:
        load(target)
    assert str(caught.value.where).startswith(f"{module}:2: LIMIT = (")


def test_a_save_is_noticed_once(target: str) -> None:
    load(target)
    file, module = Path(target), Path(target).parent / "prices.py"
    saves = _Saves(target)
    saves.look()
    assert not saves.look()
    for saved in (file, module):
        saved.write_text(saved.read_text() + "# more\n")
        assert saves.look()
        assert not saves.look()


def test_what_an_editor_does_is_noticed_once(target: str) -> None:
    file = Path(target)
    saves = _Saves(target)
    saves.look()
    # It moves the file away, writes another one and moves that into its place.
    os.rename(file, file.with_suffix(".bak"))
    assert not saves.look()
    new = file.with_suffix(".tmp")
    new.write_text("app = None\n")
    os.rename(new, file)
    assert saves.look()
    assert not saves.look()
    # The same length, in the same second.
    file.write_text("app = True\n")
    assert saves.look()


def test_a_module_that_was_missing_is_noticed_when_it_comes(target: str) -> None:
    saves = _Saves(target)
    saves.look()
    (Path(target).parent / "rates.py").write_text("RATE = 1\n")
    assert saves.look()
    assert not saves.look()
