"""Folders of files as sources of a run against a real broker."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import pytest

import headrace as hr
from headrace.broker import topics
from headrace.errors import BadRecord, ConfigError, PlanError, RunError, SourceError, StateError, TopicError
from headrace.runtime import dead
from headrace.runtime.checkpoints import repair, reset
from headrace.runtime.checkpoints.state import location
from headrace.runtime.display import Silent
from tests.runtime.test_handle import SECONDS, Batches
from tests.runtime.test_run import put as put_records
from tests.runtime.test_run import rows_of, run

SCHEMA = "id int, name string, price double, at timestamp"


@pytest.fixture
def project(spark: Any, broker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    return broker


def copying(out: str, path: str = "data", **options: Any) -> hr.App:
    app = hr.App(f"copy-{out}")
    app.stream(hr.sources.files(path, **options), schema=SCHEMA).select("id", "name", "price").to(out)
    return app


def put(name: str, content: str | bytes) -> None:
    """As a whole, under its name."""
    part = Path("data") / f".{name.replace('/', '-')}"
    part.write_bytes(content if isinstance(content, bytes) else content.encode())
    (Path("data") / name).parent.mkdir(exist_ok=True, parents=True)
    part.rename(Path("data") / name)


def lines(*ids: int) -> str:
    return "".join(json.dumps({"id": id, "name": f"n{id}", "price": id / 2}) + "\n" for id in ids)


def ids(broker: Any, out: str) -> list[int]:
    return sorted(row["id"] for row in rows_of(broker, out))


def dead_letters(broker: Any, out: str) -> dict[str, str]:
    """Value -> cause."""
    return {
        (dead_letter.record.value or b"").decode(): dead_letter.cause
        for dead_letter in dead.read(broker.connection, f"copy-{out}")
    }


def test_each_file_is_read_once_whatever_the_runs(project: Any, topic: str) -> None:
    put("a.json", lines(1, 2))
    put("below/b.json", lines(3))
    run(copying(topic), project)
    put("c.json.gz", gzip.compress(lines(4, 5).encode()))
    run(copying(topic), project)
    run(copying(topic), project)
    assert ids(project, topic) == [1, 2, 3, 4, 5]


def test_a_pattern_chooses_files_by_name(project: Any, topic: str) -> None:
    put("a.json", lines(1))
    put("a.txt", "not for us\n")
    run(copying(topic, "data/*.json"), project)
    assert ids(project, topic) == [1]
    assert not dead_letters(project, topic)


@pytest.mark.parametrize("name", ["a.json", "with space %ü.json", "a.json.gz", "a.json.zst"])
def test_malformed_lines_are_dead_letters_with_their_bytes_and_place(project: Any, topic: str, name: str) -> None:
    far = lines(*range(10, 9000))
    text = lines(1) + "{oops\n\n" + far + '{"id": "x"}\r\n' + lines(2) + "[]"
    if name.endswith(".zst"):
        Path("plain").write_text(text)
        duckdb.sql("copy (select content from read_blob('plain')) to 'packed.zst' (format blob, compression zstd)")
        put(name, Path("packed.zst").read_bytes())
    else:
        put(name, gzip.compress(text.encode()) if name.endswith(".gz") else text)
    run(copying(topic), project)
    assert ids(project, topic) == [1, 2, *range(10, 9000)]
    assert set(dead_letters(project, topic)) == {"{oops", '{"id": "x"}', "[]"}
    found = dead.read(project.connection, f"copy-{topic}")
    assert {dead_letter.offset for dead_letter in found} == {text.index("{oops"), text.index('{"id": "x"}'), text.rindex("[]")}
    assert {unquote(dead_letter.topic).rpartition("/")[2] for dead_letter in found} == {name}


def test_dead_letters_of_files_are_not_replayed_and_can_be_dropped(project: Any, topic: str) -> None:
    put("a.json", "{oops\n")
    run(copying(topic), project)
    app = f"copy-{topic}"
    (dead_letter,) = dead.read(project.connection, app)
    with pytest.raises(ConfigError, match="is a row of a file, which is not written again") as refused:
        dead.replay(project.connection, app, [dead_letter])
    assert f"headrace dead show {app} {dead_letter.id}" in (refused.value.fix or "")
    assert dead.find(project.connection, app, [dead_letter.id]) == [dead_letter]
    assert dead.drop(project.connection, app, [dead_letter]) == 1
    assert not dead.read(project.connection, app)


def test_malformed_csv_rows_are_dead_letters_that_say_why(project: Any, topic: str) -> None:
    put("a.csv", 'id;name;price\n1;"a;b";2\nx;b;1\n3;c\n4;"d" e;1\n\n5;;\n')
    run(copying(topic, format="csv", delimiter=";"), project)
    rows = {row["id"]: (row["name"], row["price"]) for row in rows_of(project, topic)}
    assert rows == {1: ("a;b", 2.0), 5: (None, None)}
    assert dead_letters(project, topic) == {
        "x;b;1": "field id: 'x' is not an int",
        "3;c": "2 cells, and the header has 3",
        '4;"d" e;1': "text after a closing quote",
    }


def test_a_csv_file_with_another_delimiter_says_so(project: Any, topic: str) -> None:
    put("a.csv", "id;name\n1;a\n")
    run(copying(topic, format="csv"), project)
    assert dead_letters(project, topic) == {"1;a": "none of the columns is in the header: id;name"}


def test_parquet_is_read_with_its_types_and_rows_without_their_time_are_dead_letters(project: Any, topic: str) -> None:
    duckdb.sql(
        "copy (select i::int id, 'n' || i as name, i / 2 price, "
        "case when i = 3 then null else timestamptz '2026-01-01 00:00:00+00' end as at from range(5) t(i)) "
        "to 'data/a.parquet' (format parquet)"
    )
    app = hr.App(f"copy-{topic}")
    app.stream(hr.sources.files("data", format="parquet"), schema=SCHEMA, time="at").select("id", "name", "price").to(topic)
    run(app, project)
    assert sorted((row["id"], row["price"]) for row in rows_of(project, topic)) == [(0, 0.0), (1, 0.5), (2, 1.0), (4, 2.0)]
    ((value, cause),) = dead_letters(project, topic).items()
    assert json.loads(value)["id"] == 3
    assert cause == "field at: missing or null, but required"


def test_a_row_that_fails_later_is_a_dead_letter_with_its_bytes(project: Any, topic: str) -> None:
    put("a.json", lines(1, 2, 4))
    app = hr.App(f"copy-{topic}")
    app.stream(hr.sources.files("data"), schema=SCHEMA).select("id", "10 / (id - 2) as x").to(topic)
    run(app, project)
    assert ids(project, topic) == [1, 4]
    assert [json.loads(value)["id"] for value in dead_letters(project, topic)] == [2]


def test_a_file_that_changed_after_it_was_read_stops_the_next_run(project: Any, topic: str) -> None:
    put("a.json", lines(1))
    run(copying(topic), project)
    with open("data/a.json", "a") as file:
        file.write(lines(2))
    with pytest.raises(SourceError, match=r"a\.json changed after it was read") as refused:
        run(copying(topic), project)
    assert refused.value.where is not None
    put("b.json", lines(2))
    os.remove("data/a.json")
    run(copying(topic), project)
    assert ids(project, topic) == [1, 2]


def test_a_folder_that_vanishes_stops_the_run_that_follows_it(project: Any, topic: str) -> None:
    put("a.json", lines(1))
    batches = Batches()
    handle = copying(topic).start(broker=project.address, on_event=batches, quiet=True)
    batches.rows(1)
    os.rename("data", "gone")
    with pytest.raises(SourceError, match=r"there is no .*data"):
        handle.wait(SECONDS)
    os.rename("gone", "data")
    put("b.json", lines(2))
    run(copying(topic), project)
    assert ids(project, topic) == [1, 2]


def test_a_folder_that_is_not_there_is_refused_at_the_users_line(project: Any, topic: str) -> None:
    with pytest.raises(SourceError, match=r"there is no .*nowhere") as refused:
        run(copying(topic, "nowhere"), project)
    assert refused.value.where is not None
    assert "mkdir -p" in (refused.value.fix or "")


def test_a_link_in_a_folder_to_the_folder_itself_is_refused_and_another_is_followed(project: Any, topic: str) -> None:
    put("a.json", lines(1))
    os.makedirs("elsewhere")
    Path("elsewhere/b.json").write_text(lines(2))
    os.symlink("../elsewhere", "data/more")
    run(copying(topic), project)
    assert ids(project, topic) == [1, 2]
    os.symlink(".", "data/loop")
    with pytest.raises(SourceError, match=r"data/loop is a link to a folder that it is in") as refused:
        run(copying(topic), project)
    assert refused.value.fix == f"remove the link: rm {Path('data/loop').absolute()}"


def test_a_file_that_vanishes_before_it_was_read_is_missed_by_nobody(project: Any, topic: str) -> None:
    put("a.json", lines(1))
    app = copying(topic)
    run(app, project)
    # As after a crash between planning a batch and committing it.
    (spec,) = app.queries()
    place = Path(location(".headrace/state", spec).removeprefix("file://"))
    for commit in (place / "commits").iterdir():
        commit.unlink()
    os.remove("data/a.json")
    with pytest.raises(SourceError, match=r"a\.json vanished before it was read"):
        run(copying(topic), project)


def crash(app: hr.App) -> None:
    """As if it died after a batch was written, and before it was noted as done."""
    (spec,) = app.queries()
    commits = Path(location(".headrace/state", spec).removeprefix("file://")) / "commits"
    newest = max((file for file in commits.iterdir() if file.name.isdigit()), key=lambda file: int(file.name))
    newest.unlink()
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)


def test_a_crash_between_batches_of_few_files_loses_and_doubles_none(project: Any, topic: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("HEADRACE_BATCH_BYTES", "1k")
    expected: list[int] = []
    for round in range(3):
        for file in range(4):
            some = [1000 * round + 100 * file + each for each in range(30)]
            put(f"{round}-{file}.json", lines(*some) + ("{oops\n" if file == 3 else ""))
            expected += some
        done = run(copying(topic), project)
        assert done.totals[0].batches >= 4
        crash(copying(topic))
    run(copying(topic), project)
    assert ids(project, topic) == expected
    assert len(dead.read(project.connection, f"copy-{topic}")) == 3


def test_a_run_that_is_killed_goes_on_with_the_files_it_has_not_read(project: Any, topic: str) -> None:
    Path("app.py").write_text(
        "import headrace as hr\n"
        f"app = hr.App('copy-{topic}')\n"
        f"app.stream(hr.sources.files('data'), schema='{SCHEMA}').select('id', 'name', 'price').to('{topic}')\n"
    )
    put("0.json", lines(0))
    command = [sys.executable, "-m", "headrace", "run", "app.py", "--json", "--broker", project.address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        for number in range(1, 20):
            put(f"{number}.json", lines(number))
        process.stdout.readline()
        process.kill()
    put("20.json", lines(20))
    run(copying(topic), project)
    assert ids(project, topic) == list(range(21))


def test_a_file_that_can_not_be_read_stops_the_run_and_names_it(project: Any, topic: str) -> None:
    put("a.json", lines(1))
    put("b.json.gz", b"not packed at all")
    with pytest.raises(SourceError, match=r"the file .*b\.json\.gz can't be read") as refused:
        run(copying(topic), project)
    assert refused.value.where is not None
    assert ids(project, topic) == []
    put("b.json.gz", gzip.compress(lines(2).encode()))
    run(copying(topic), project)
    run(copying(topic), project)
    assert ids(project, topic) == [1, 2]
    put("b.json.gz", gzip.compress(lines(3).encode()))
    with pytest.raises(SourceError, match=r"b\.json\.gz changed after it was read"):
        run(copying(topic), project)


def test_a_file_that_is_cut_in_the_middle_stops_the_run_and_names_it(project: Any, topic: str) -> None:
    whole = gzip.compress(lines(*range(50_000)).encode())
    put("a.json.gz", whole[: len(whole) // 2])
    with pytest.raises(SourceError, match=r"the file .*a\.json\.gz can't be read"):
        run(copying(topic), project)
    put("a.json.gz", whole)
    run(copying(topic), project)
    assert ids(project, topic) == list(range(50_000))


def test_names_of_files_may_have_colons(project: Any, topic: str) -> None:
    put("2026-11-18T10:00:00.json", lines(1) + "{oops\n")
    put("a:b/c:d.json.gz", gzip.compress(lines(2).encode()))
    run(copying(topic), project)
    assert ids(project, topic) == [1, 2]
    assert set(dead_letters(project, topic)) == {"{oops"}


def test_a_file_that_changed_after_a_crash_whose_rows_were_written_is_not_taken_for_read(project: Any, topic: str) -> None:
    put("a.json", lines(1))
    run(copying(topic), project)
    crash(copying(topic))
    put("a.json", lines(1, 2))
    with pytest.raises(SourceError, match=r"a\.json changed after its rows were written") as refused:
        run(copying(topic), project)
    put("a.json", lines(1))
    put("b.json", lines(2))
    touch = (refused.value.fix or "").rpartition(": ")[2]
    assert touch.startswith("touch -d @")
    subprocess.run(shlex.split(touch), check=True)
    run(copying(topic), project)
    assert ids(project, topic) == [1, 2]


def test_a_bad_line_that_is_too_long_for_a_dead_letter_has_one_without_its_bytes(project: Any, topic: str) -> None:
    put("a.json", b"{" + b"y" * (120 << 20) + b"\n" + lines(1).encode())
    run(copying(topic), project)
    assert ids(project, topic) == [1]
    (dead_letter,) = dead.read(project.connection, f"copy-{topic}")
    assert (dead_letter.record.value, dead_letter.offset) == (None, 0)
    assert "not valid JSON" in dead_letter.cause


def test_a_url_that_spark_does_not_know_is_refused_at_the_users_line(project: Any, topic: str) -> None:
    with pytest.raises(SourceError, match=r"nosuch://place/data can't be reached: .*No FileSystem for scheme") as refused:
        run(copying(topic, "nosuch://place/data"), project)
    assert refused.value.where is not None


def test_a_record_of_a_file_that_ends_the_run_is_named_by_file_and_byte(project: Any, topic: str) -> None:
    put("a.json", lines(1) + "{oops\n")
    app = hr.App(f"copy-{topic}")
    app.stream(hr.sources.files("data"), schema=SCHEMA, bad="fail").to(topic)
    with pytest.raises(BadRecord, match=rf"file .*/data/a\.json, byte {len(lines(1))}: ") as refused:
        run(app, project)
    assert f"tail -c +{len(lines(1)) + 1} " in (refused.value.fix or "")


def test_an_empty_folder_is_read_as_soon_as_it_has_files(project: Any, topic: str) -> None:
    batches = Batches()
    with copying(topic).start(broker=project.address, on_event=batches, quiet=True) as handle:
        batches.note("the files 'data': there are no files yet")
        put("a.json", lines(1))
        batches.rows(1)
        handle.stop()
    assert ids(project, topic) == [1]


def test_a_folder_without_new_files_holds_no_topic_back_after_idle_after(project: Any, topic: str) -> None:
    options: dict[str, Any] = {"schema": "id int, at timestamp", "time": "at", "lateness": "1 second"}
    app = hr.App(f"idle-{topic}")
    files = app.stream(hr.sources.files("data"), idle_after="1 second", **options)
    both = files.merge(app.stream(topic, **options))
    both.window(hr.tumbling("1 minute"), emit="final").agg(n="count(*)").to(f"{topic}-out")
    put("a.json", json.dumps({"id": 1, "at": "2024-01-01T10:00:00Z"}))
    put_records(project, topic, [{"id": id, "at": f"2024-01-01T10:{id:02}:30Z"} for id in (0, 1, 5)])
    batches = Batches()
    with app.start(broker=project.address, on_event=batches, quiet=True):
        batches.rows(2)
    assert sorted(row["n"] for row in rows_of(project, f"{topic}-out")) == [1, 2]


def test_a_pattern_that_matches_no_file_of_the_folder_is_refused_with_those_there_are(project: Any, topic: str) -> None:
    put("a.csv", "id,name\n")
    with pytest.raises(SourceError, match=r"no file in .*/data matches '\*\.cvs'") as refused:
        run(copying(topic, "data/*.cvs", format="csv"), project)
    assert refused.value.fix == "there are: a.csv"
    assert refused.value.where is not None


def test_a_pattern_that_matches_no_topic_is_refused_with_those_there_are(project: Any, topic: str) -> None:
    topics.create(project.connection, f"{topic}-there")
    app = hr.App(f"copy-{topic}")
    app.stream(hr.sources.kafka(pattern=f"{topic}-[0-9]+"), schema=SCHEMA).to(topic)
    with pytest.raises(TopicError, match=r"no topic at .* matches ") as refused:
        run(app, project)
    assert refused.value.where is not None
    assert (refused.value.fix or "").startswith("there are: ")


def test_another_folder_under_the_same_name_is_another_source(
    project: Any, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a.json", lines(1))
    run(copying(topic), project)
    # The same folder, spelled another way.
    run(copying(topic, str(tmp_path / "data")), project)
    os.rename("data", "other")
    with pytest.raises(StateError, match=r"reads other things\n  was: the files .*/data\n  now: the files .*/other"):
        run(copying(topic, "other"), project)


def test_a_reset_reads_all_files_again(project: Any, topic: str) -> None:
    put("a.json", lines(1, 2))
    run(copying(topic), project)
    put("b.json", lines(3))
    flags = {"broker": project.address}
    assert "the query reads the files 'data' from the start again" in reset.consequences(copying(topic), topic, "delete")[0]
    reset.reset(copying(topic), topic, "delete", flags=flags, display=Silent())
    run(copying(topic), project)
    assert ids(project, topic) == [1, 2, 3]


def test_a_repair_leaves_the_files_that_were_read_alone(project: Any, topic: str) -> None:
    put("a.json", lines(1))
    run(copying(topic), project)
    repair.repair(copying(topic), topic, flags={"broker": project.address}, display=Silent())
    put("b.json", lines(2))
    run(copying(topic), project)
    assert ids(project, topic) == [1, 2]


def test_columns_that_parquet_files_lack_are_null_and_types_widen(project: Any, topic: str) -> None:
    duckdb.sql("copy (select 1::int id, 'a' as name) to 'data/a.parquet' (format parquet)")
    duckdb.sql("copy (select 2::int id, 1.5::float price, 'x' as extra) to 'data/b.parquet' (format parquet)")
    run(copying(topic, format="parquet"), project)
    rows = sorted((row["id"], row["name"], row["price"]) for row in rows_of(project, topic))
    assert rows == [(1, "a", None), (2, None, 1.5)]


def test_a_parquet_file_with_another_type_stops_the_run_and_names_it(project: Any, topic: str) -> None:
    duckdb.sql("copy (select 'one' as id) to 'data/a.parquet' (format parquet)")
    with pytest.raises((SourceError, RunError), match=r"the file .*a\.parquet can't be read"):
        run(copying(topic, format="parquet"), project)


def test_real_time_mode_refuses_files(project: Any, topic: str) -> None:
    with pytest.raises(PlanError, match="the files 'data' can't be read in real-time mode"):
        copying(topic).start(broker=project.address, mode="realtime")


def test_a_table_of_files_has_the_newest_row_of_each_key_by_its_version(project: Any, topic: str) -> None:
    put("a.json", '{"k": "a", "v": 1, "at": 2}\n{"k": "b", "v": 2, "at": 1}\n')
    put("b.json", '{"k": "a", "v": 3, "at": 1}\n{"k": "b", "v": 4, "at": 2}\n')
    app = hr.App(f"table-{topic}")
    app.table(hr.sources.files("data"), key="k", schema="k string, v int, at int", version="at").to(topic)
    run(app, project)
    last = {row["k"]: row["v"] for row in rows_of(project, topic)}
    assert last == {"a": 1, "b": 4}
