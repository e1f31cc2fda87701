"""Facts about nodes: each is closed, so that a new node is a type error wherever something has to be said of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as hr
from headrace.plan import traits
from headrace.plan.nodes import Node, walk

SOURCE = Path(hr.__file__).parent
CLOSED = {
    ("nodes.py", "inputs"),
    ("nodes.py", "over"),
    ("columns.py", "known"),
    *(("traits.py", name) for name in ("of", "of_record", "drawn", "state", "not_in_realtime", "_computed", "_definition")),
    *(("compile.py", name) for name in ("_raw", "_table", "_frame")),
    ("shared.py", "then"),
}


def stream(topic: str = "events") -> hr.Stream:
    return hr.App("a").stream(topic, schema="k string, v int, at timestamp", time="at", lateness="10 seconds")


def node(made: hr.Stream | hr.Table) -> Node:
    return made._node  # pyright: ignore[reportPrivateUsage]


def test_a_new_node_is_a_type_error_in_each_fact_and_in_what_compiles_it(tmp_path: Path) -> None:
    copy = tmp_path / "headrace"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("_kernel", "__pycache__"))
    nodes = copy / "plan" / "nodes.py"
    novel = "class Novel(_Node):\n    input: Node\n\n\n@dataclass(frozen=True, kw_only=True)\n"
    text = nodes.read_text().replace("class Filter(_Over):", f"{novel}class Filter(_Over):")
    nodes.write_text(text.replace("\nNode = (\n    Read\n", "\nNode = (\n    Read\n    | Novel\n"))
    (tmp_path / "pyproject.toml").write_text('[tool.pyright]\ntypeCheckingMode = "strict"\npythonVersion = "3.11"\n')
    places = ("plan/nodes.py", "plan/traits.py", "plan/columns.py", "spark/compile.py", "spark/shared.py")
    files = [copy / place for place in places]
    command = [sys.executable, "-m", "pyright", "--project", tmp_path, "--pythonpath", sys.executable, "--outputjson", *files]
    report = json.loads(subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False).stdout)
    lacking = {
        (Path(each["file"]).name, _function(Path(each["file"]), each["range"]["start"]["line"]))
        for each in report["generalDiagnostics"]
        if "Novel" in each["message"] and each["rule"] == "reportMatchNotExhaustive"
    }
    assert lacking == CLOSED


def _function(file: Path, line: int) -> str:
    """The function that this line is in."""
    before = file.read_text().splitlines()[: line + 1]
    return next(found[1] for text in reversed(before) if (found := re.match(r"\s*def (\w+)", text)))


def test_only_lookups_by_event_time_joins_windows_and_functions_of_the_user_wait_for_the_watermark() -> None:
    events = stream()
    table = events.as_table(key="k")
    waiting = [
        events.join(table.select("k", w="v"), on="k", as_of="event_time"),
        events.join(events.select("k", w="v"), on="k", within="1 minute"),
        events.window(hr.tumbling("1 minute")).count(),
        events.apply(lambda frame: frame),
    ]
    others = [
        events,
        events.join(table.select("k", w="v"), on="k"),
        events.dedupe("k", within="1 minute"),
        table,
        events.count(),
    ]
    assert [traits.waits(node(made)) for made in waiting] == [True] * 4
    assert [traits.waits(node(made)) for made in others] == [False] * 5
    assert traits.needs_watermark(node(events.dedupe("k", within="1 minute")))
    assert not traits.needs_watermark(node(events.dedupe("k")))


def test_what_is_one_record_s_ends_at_what_keeps_state() -> None:
    events = stream()
    rows = events.where("v > 1").with_columns(w="v").explode("array(v)", name="x").key_by("k")
    assert traits.of_record(node(rows))
    assert traits.of_record(node(rows.merge(rows)))
    for made in (rows.dedupe("k"), rows.count(), rows.as_table(), rows.apply(lambda frame: frame)):
        assert not traits.of_record(node(made))


def test_a_table_is_replaced_or_changed_and_a_stream_is_appended_to() -> None:
    events = stream()
    assert traits.rows(node(events.where("v > 1"))) == "appended"
    assert traits.rows(node(events.as_table(key="k").select("k"))) == "changed"
    assert traits.rows(node(events.key_by("k").count().select("k", "count"))) == "replaced"
    assert traits.rows(node(events.window(hr.tumbling("1 minute"), emit="final").count())) == "appended"


@pytest.mark.parametrize(
    ("made", "mode"),
    [
        (lambda s: s.where("v > 1"), "append"),
        (lambda s: s.dedupe("k"), "append"),
        (lambda s: s.count(), "update"),
        (lambda s: s.as_table(key="k"), "update"),
        (lambda s: s.window(hr.tumbling("1 minute"), emit="final").count(), "append"),
        (lambda s: s.window(hr.sliding("1 minute")).count(), "update"),
        (lambda s: s.join(s.as_table(key="k").select("k", w="v"), on="k"), "update"),
        (lambda s: s.join(s.select("k", w="v"), on="k", within="1 minute"), "append"),
    ],
)
def test_the_output_mode_is_append_where_spark_knows_no_other_and_update_where_rows_change(made: object, mode: str) -> None:
    assert callable(made)
    assert traits.mode(walk(node(made(stream())))) == mode


def test_something_may_be_waited_for_as_long_as_all_windows_and_joins_on_the_way_last() -> None:
    minute = 60_000_000
    events = stream()
    assert traits.reach(node(events)) == 1000
    minutes = events.key_by("k").window(hr.tumbling("1 minute"), emit="final").count()
    hours = minutes.key_by("k").window(hr.tumbling("1 hour"), emit="final")
    assert traits.reach(node(hours.count())) == 61 * minute + 1000
    ticks = events.window(hr.tumbling("1 minute"), emit=hr.every("1 second")).count()
    assert traits.reach(node(ticks)) == 2 * minute + 1_000_000 + 1000
    joined = events.join(events.select("k", w="v"), on="k", within="1 minute")
    assert traits.reach(node(joined)) == minute + 2000 + 1000
