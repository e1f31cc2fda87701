"""`headrace reset`: whatever stopped a query, the command that the error names leads to right results."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace import cli
from headrace.broker import clear, peek, send, topics
from headrace.broker.records import Record
from headrace.runtime.checkpoints import state

COUNTS = """
import headrace as hr

app = hr.App("APP")
events = app.stream("IN", schema="id int, k string")
counts = events.key_by("k").agg(n="count(*)")
counts.to("COUNTS", name="counts")
counts.to(hr.sinks.sqlite("results.db", table="counts"))
events.where("id >= 0").to("COPIES", name="copies")
"""


class Project:
    """An application in a file, and the commands that a person types."""

    def __init__(self, broker: Any, topic: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.broker, self.topic, self.folder, self.capsys = broker, topic, folder, capsys
        self.fed: list[dict[str, Any]] = []
        self.state = folder / ".headrace" / "state" / f"app-{topic}"
        topics.create(broker.connection, topic, partitions=2)
        self.write("app.py", COUNTS)

    def write(self, file: str, text: str) -> None:
        names = {
            "APP": f"app-{self.topic}",
            "IN": self.topic,
            "COUNTS": f"{self.topic}-counts",
            "COPIES": f"{self.topic}-copies",
        }
        for name, value in names.items():
            text = text.replace(f'"{name}"', f'"{value}"')
        (self.folder / file).write_text(text)

    def feed(self, *keys: str) -> None:
        rows = [{"id": len(self.fed) + at, "k": key} for at, key in enumerate(keys)]
        self.fed += rows
        records = (Record(json.dumps(row).encode(), row["k"].encode()) for row in rows)
        send.send(self.broker.connection, self.topic, records)

    def headrace(self, *words: str) -> tuple[int, str]:
        self.capsys.readouterr()
        code = cli.main([*words, "--broker", self.broker.address])
        said = self.capsys.readouterr()
        return code, said.out + said.err

    def run(self, file: str = "app.py") -> str:
        code, said = self.headrace("run", file, "--until", "now")
        assert code == 0, said
        return said

    def reset(self, said: str) -> str:
        """Types the command that was said."""
        (command,) = set(re.findall(r"headrace (reset \S+ \S+ --output delete)", said))
        code, answer = self.headrace(*command.split(), "--yes")
        assert code == 0, answer
        return answer

    def table(self) -> dict[str, int]:
        rows = peek.table(peek.read(self.broker.connection, f"{self.topic}-counts"))
        return {key.decode(): json.loads(record.value or b"")["n"] for key, record in rows.items()}

    def copies(self) -> Counter[int]:
        found = peek.read(self.broker.connection, f"{self.topic}-copies")
        return Counter(json.loads(record.value or b"")["id"] for record in found)

    def database(self) -> dict[str, int]:
        with closing(sqlite3.connect(self.folder / "results.db")) as results:
            return dict(results.execute("SELECT k, n FROM counts"))

    def right(self) -> None:
        answer = Counter(row["k"] for row in self.fed)
        assert (self.table(), self.database()) == (answer, answer)
        assert self.copies() == Counter(row["id"] for row in self.fed)


@pytest.fixture
def project(
    spark: Any, broker: Any, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(broker, topic, tmp_path, capsys)


def test_a_reset_that_was_interrupted_is_finished_by_the_next_one(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.feed("a", "b")
    project.run()

    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    for module, name in ((clear, "delete_rows"), (state, "end_reset")):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, die)
            assert project.headrace("reset", "app.py", "counts", "--output", "delete", "--yes")[0] == cli.INTERRUPTED
        code, said = project.headrace("run", "app.py", "--until", "now")
        assert code == 1
        assert "a reset of query 'counts' was interrupted" in said
    project.reset(said)
    assert (project.table(), project.database()) == ({}, {})
    project.feed("c")
    project.run()
    project.right()


def test_output_that_is_kept_is_written_over_or_again(project: Project) -> None:
    project.feed("a", "b")
    project.run()
    for query in ("counts", "copies"):
        code, said = project.headrace("reset", "app.py", query, "--output", "keep", "--yes")
        assert code == 0
        assert ("its readers get them twice" in said) == (query == "copies")
    project.run()
    assert project.table() == project.database() == {"a": 1, "b": 1}
    assert project.copies() == {0: 2, 1: 2}


def test_a_query_under_a_new_name_says_that_old_keys_stay_and_how_they_go(project: Project) -> None:
    project.feed("good", "bad", "good")
    project.run()
    mended = COUNTS.replace("events.key_by", """events.where("k != 'bad'").key_by""").replace(
        'name="counts"', 'name="counts-2"'
    )
    project.write("mended.py", mended)
    said = project.run("mended.py")
    assert "query counts-2 starts over" in said
    assert "keys that it does not produce any more stay there" in said
    assert project.table() == project.database() == {"good": 2, "bad": 1}
    project.reset(said)
    said = project.run("mended.py")
    assert "starts over" not in said
    assert project.table() == project.database() == {"good": 2}


def test_a_destination_that_is_added_says_that_it_lacks_what_was_before(project: Project) -> None:
    project.feed("a", "b", "a")
    project.run()
    (project.folder / "results.db").rename(project.folder / "old.db")
    project.write("added.py", COUNTS.replace('table="counts"', 'table="more"'))
    project.feed("a")
    said = project.run("added.py")
    assert "query counts writes to sqlite.more from now on" in said
    more = "SELECT k, n FROM more"
    with closing(sqlite3.connect(project.folder / "results.db")) as results:
        assert dict(results.execute(more)) == {"a": 3}
        project.reset(said)
        project.run("added.py")
        assert dict(results.execute(more)) == project.table() == {"a": 3, "b": 1}


def test_a_reset_asks_and_says_what_it_would_do(project: Project) -> None:
    code, said = project.headrace("reset", "app.py", "counts", "--output", "delete")
    assert code == 1
    assert f"every row of the topic {project.topic}-counts is deleted" in said
    assert "all rows of the table counts (sqlite.counts) are deleted, whoever wrote them" in said
    assert "add --yes" in said
    code, said = project.headrace("reset", "app.py", "other", "--output", "delete", "--yes")
    assert code == 1
    assert "has no query 'other'" in said
    project.write("latest.py", COUNTS.replace('k string"', 'k string", start="latest"'))
    code, said = project.headrace("reset", "latest.py", "counts", "--output", "keep")
    assert code == 1
    assert f'but {project.topic}, which has start="latest", only from its end: what was read of it is lost' in said


def test_files_that_don_t_fit_the_checkpoint_are_noticed_and_reset(project: Project, spark: Any) -> None:
    project.write(
        "files.py", COUNTS.partition("counts =")[0] + 'events.to(hr.sinks.files("rows", format="json"), name="files")\n'
    )

    def rows() -> Counter[str]:
        return Counter(row.k for row in spark.read.json(str(project.folder / "rows")).collect())

    project.feed("a", "b")
    project.run("files.py")
    project.feed("c")
    project.run("files.py")
    shutil.rmtree(project.state / "files")
    code, said = project.headrace("run", "files.py", "--until", "now")
    assert code == 1
    assert "rows holds files up to batch 1, but the checkpoint ends before batch 0" in said
    assert rows() == Counter("abc")
    code, refused = project.headrace("reset", "files.py", "files", "--output", "keep", "--yes")
    assert code == 1
    assert "files can't be kept" in refused
    project.reset(said)
    project.run("files.py")
    assert rows() == Counter("abc")
    shutil.rmtree(project.folder / "rows")
    code, said = project.headrace("run", "files.py", "--until", "now")
    assert code == 1
    assert "rows holds no files of this query, but the checkpoint says batch 0 was confirmed there" in said
    project.reset(said)
    project.run("files.py")
    assert rows() == Counter("abc")


def test_the_command_that_an_error_names_leads_to_right_results(project: Project) -> None:
    place = project.state / "counts"

    def without_manifest() -> None:
        (place / "headrace.json").unlink()

    def other_settings() -> None:
        manifest = place / "headrace.json"
        manifest.write_text(manifest.read_text().replace('timeZone": "UTC"', 'timeZone": "Europe/Berlin"'))
        (place / ".headrace.json.crc").unlink(missing_ok=True)

    def damaged() -> None:
        newest = max((place / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))
        newest.write_bytes(bytes(newest.stat().st_size))

    def emptied() -> None:
        for file in project.folder.glob("results.db*"):
            file.unlink()

    broken: dict[str, tuple[Callable[[], None], str]] = {
        "does not say what it was made for": (without_manifest, "app.py"),
        "written with spark.sql.session.timeZone=Europe/Berlin": (other_settings, "app.py"),
        "is damaged": (damaged, "app.py"),
        "of another checkpoint of this query": (lambda: shutil.rmtree(place), "app.py"),
        "results.db holds no results of this query": (emptied, "app.py"),
        "has a checkpoint that keeps other things": (lambda: None, "changed.py"),
    }
    project.write("changed.py", COUNTS.replace("count(*)", "sum(1)"))
    project.feed("a", "b", "a")
    project.run()
    for text, (spoil, file) in broken.items():
        spoil()
        project.feed("a", text)
        code, said = project.headrace("run", file, "--until", "now")
        assert code == 1
        assert text in said
        assert "starts over" in project.reset(said)
        project.run(file)
        project.right()


def test_after_the_topic_was_created_again_a_reset_begins_with_the_new_one(project: Project) -> None:
    project.feed("a", "b")
    project.run()
    topics.delete(project.broker.connection, project.topic)
    topics.create(project.broker.connection, project.topic, partitions=2)
    project.fed.clear()
    project.feed("c")
    for _ in ("counts", "copies"):
        code, said = project.headrace("run", "app.py", "--until", "now")
        assert code == 1
        assert "it was deleted and created again" in said
        project.reset(said)
    project.run()
    project.right()
