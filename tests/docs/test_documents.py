"""README and docs are true: their Python runs, their commands parse, their links lead somewhere."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import shlex
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import headrace as hr
from headrace import cli
from headrace.broker.client import ALLOWED
from headrace.config import SECRET, SETTINGS
from headrace.testing import Driver
from tests.docs import readme
from tests.docs.readme import ROOT, blocks

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINKED = [*PAGES, *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
Drive = Callable[[hr.App], Driver]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


WITH_PYTHON = [page for page in LINKED if any(block.language == "python" for block in blocks(page))]


def executed(page: Path, folder: Path) -> ModuleType:
    """The page as a module: its Python on the lines where it stands in the page, so that errors name those."""
    lines: list[str] = []
    for block in blocks(page):
        if block.language == "python":
            lines += [""] * (block.line - len(lines)) + block.text.splitlines()
    file = folder / (page.stem.replace("-", "_") + ".py")
    file.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(f"page_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Not in sys.modules: the functions of a page travel to Spark's Python workers by value, as those of a main program do.
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_the_python_of_a_page_runs_and_its_apps_compile_and_its_tests_pass(page: Path, tmp_path: Path, drive: Drive) -> None:
    module = executed(page, tmp_path)
    apps = [value for value in vars(module).values() if isinstance(value, hr.App)]
    assert apps
    for app in apps:
        compiled(app)
    for name, test in vars(module).items():
        if name.startswith("test_"):
            test(*[drive for _ in inspect.signature(test).parameters])


def compiled(app: hr.App) -> None:
    """As headrace.runtime.look.check does, in the session of the tests."""
    from headrace.spark import jvm
    from headrace.spark.compile import compile_all
    from headrace.spark.read import memory
    from headrace.testing.driver import spark

    log = uuid.uuid4().hex
    jvm.memory_log_create(spark(), log)
    try:
        compile_all(app.queries(), lambda source: memory.read(spark(), source, log))
    finally:
        jvm.memory_log_drop(spark(), log)


def test_an_app_of_a_page_is_never_bound_to_a_name_twice() -> None:
    for page in WITH_PYTHON:
        text = "\n".join(block.text for block in blocks(page) if block.language == "python")
        bound = re.findall(r"^(\w+) = hr\.App\(", text, re.MULTILINE)
        assert len(bound) == len(set(bound)), name_of(page)


def commands(page: Path) -> Iterator[list[str]]:
    """The headrace commands of a page's sh blocks, as words; both sides of a pipe."""
    for block in blocks(page):
        if block.language == "sh":
            for line in block.text.splitlines():
                for part in line.split(" | "):
                    words = shlex.split(part, comments=True)
                    if words[:1] == ["headrace"]:
                        yield words[1:]


@pytest.mark.parametrize("page", [page for page in PAGES if any(commands(page))], ids=name_of)
def test_the_commands_of_a_page_are_commands(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in commands(page):
        try:
            cli._parser(words).parse_args(words)
        except SystemExit:
            pytest.fail(f"headrace {shlex.join(words)}: {capsys.readouterr().err}")


def test_every_command_is_in_the_docs() -> None:
    documented = {next(word for word in words if not word.startswith("-")) for page in PAGES for words in commands(page)}
    assert documented == set(cli.COMMANDS)


def test_every_make_target_in_the_docs_exists() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for page in LINKED:
        text = page.read_text()
        assert set(re.findall(r"^make (\w+)|`make (\w+)", text, re.MULTILINE)) <= {(t, "") for t in targets} | {
            ("", t) for t in targets
        }, name_of(page)


def test_every_setting_is_in_the_docs() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text()
    assert [name for name in (*SETTINGS, *ALLOWED) if f"`{name}`" not in text] == []
    for name, kind in SETTINGS.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{name}` "))
        # A secret has no flag: command lines are there for everybody to read.
        flag = "" if name in SECRET else f"`--{name.replace('_', '-')}` "
        default = {"state": "`.headrace/state` "}.get(name, f"`{kind.default}` " if kind.default else "")
        assert f"| {flag}| `HEADRACE_{name.upper()}` | {default}|" in row


@pytest.mark.parametrize(
    ("noun", "page"), [(hr.Stream, "streams-and-tables"), (hr.Table, "streams-and-tables"), (Driver, "testing")]
)
def test_every_verb_is_in_the_docs(noun: type, page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text()
    verbs = [name for name in vars(noun) if not name.startswith("_") and name != "close"]
    assert [verb for verb in verbs if not re.search(rf"`(?:stream\.)?{verb}\b", text)] == []


def test_every_error_is_in_the_docs() -> None:
    from headrace import errors

    text = (ROOT / "docs" / "errors.md").read_text()
    kinds = [name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert [name for name in kinds if f"| `{name}` |" not in text] == []


def test_every_field_of_a_batch_is_in_the_docs() -> None:
    from headrace.runtime.progress import Batch

    text = (ROOT / "docs" / "running.md").read_text()
    assert [name for name in Batch.__dataclass_fields__ if f"`{name}`" not in text] == []


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)]+)\)", prose):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}, link


def test_every_page_of_the_docs_is_in_its_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    assert [
        page.name for page in PAGES if page.parent.name == "docs" and page.name != "README.md" and f"({page.name})" not in index
    ] == []


def test_the_commands_of_the_readme_do_what_it_says(tmp_path: Path, free_port: int) -> None:
    readme.does_what_it_says(tmp_path, free_port, sys.executable, dict(os.environ))
