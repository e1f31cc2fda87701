"""Applications on a real broker and a real Spark, run in this process."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.functions import udf

import headrace as hr
from headrace.broker import groups, peek, send, topics
from headrace.broker.records import Record
from headrace.errors import BadRecord, BrokerError, RunError, StateError, TopicError
from headrace.runtime import run as runtime
from headrace.runtime.checkpoints import ownership
from headrace.runtime.display import Silent
from headrace.runtime.run import Summary


@pytest.fixture
def project(spark: Any, broker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A project folder, and a broker to run against."""
    monkeypatch.chdir(tmp_path)
    return broker


def run(app: hr.App, broker: Any) -> Summary:
    return runtime.run(app, until="now", flags={"broker": broker.address}, display=Silent())


def put(broker: Any, topic: str, rows: list[dict[str, Any]], key: str | None = None) -> None:
    send.send(broker.connection, topic, send.rows(rows, key=key), create=True)


def rows_of(broker: Any, topic: str) -> list[dict[str, Any]]:
    return [json.loads(record.value or b"null") for record in peek.read(broker.connection, topic)]


def counting(topic: str, out: str, **options: Any) -> hr.App:
    app = hr.App(f"count-{topic}")
    app.stream(topic, schema="k string, v int", **options).key_by("k").agg(n="count(*)", total="sum(v)").to(out)
    return app


def test_until_now_processes_what_is_there_and_a_second_run_only_what_is_new(project: Any, topic: str) -> None:
    put(project, topic, [{"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "a", "v": 3}], key="k")
    first = run(counting(topic, f"{topic}-out"), project)
    assert (first.totals[0].rows_in, first.totals[0].rows_out) == (3, 2)
    put(project, topic, [{"k": "a", "v": 10}], key="k")
    second = run(counting(topic, f"{topic}-out"), project)
    assert second.totals[0].rows_in == 1
    assert rows_of(project, f"{topic}-out")[-1] == {"k": "a", "n": 3, "total": 14}
    assert [record.key for record in peek.read(project.connection, f"{topic}-out")][-1] == b"a"


def test_progress_is_committed_to_the_consumer_group_of_the_application(project: Any, topic: str) -> None:
    put(project, topic, [{"k": str(i), "v": i} for i in range(100)], key="k")
    app = counting(topic, f"{topic}-out")
    run(app, project)
    lag = groups.lag(project.connection, app.name)
    assert sum(part.committed for part in lag) == 100
    assert sum(part.lag for part in lag) == 0
    put(project, topic, [{"k": "x", "v": 1}])
    assert sum(part.lag for part in groups.lag(project.connection, app.name)) == 1


def test_a_record_that_cannot_be_decoded_stops_with_its_place_and_cause(project: Any, topic: str) -> None:
    put(project, topic, [{"k": "a", "v": 1}, {"k": "a", "v": "many"}])
    with pytest.raises(BadRecord) as caught:
        run(counting(topic, f"{topic}-out", bad="fail"), project)
    text = str(caught.value)
    assert f"topic {topic}, partition " in text
    assert 'field v: expected int, found string "many"' in text
    assert "test_run.py" in text
    assert f"headrace peek {topic} --partition" in text
    assert "java" not in text.lower()


def test_records_that_cannot_be_decoded_are_skipped_and_counted_if_so_wished(project: Any, topic: str) -> None:
    good = [{"k": "a", "v": i} for i in range(50)]
    put(project, topic, [*good[:20], {"k": "a", "v": "many"}, *good[20:], {"v": [1]}])
    total = run(counting(topic, f"{topic}-out", bad="skip"), project).totals[0]
    assert (total.rows_in, total.bad) == (52, 2)
    assert rows_of(project, f"{topic}-out")[-1]["n"] == 50


def test_a_missing_topic_is_named_at_the_line_that_reads_it(project: Any, topic: str) -> None:
    with pytest.raises(TopicError) as caught:
        run(counting(topic, f"{topic}-out"), project)
    assert f"there is no topic {topic}" in caught.value.message
    assert "test_run.py" in str(caught.value)
    assert f"headrace topics create {topic}" in (caught.value.fix or "")


def test_a_broker_that_does_not_answer_is_named(project: Any, topic: str) -> None:
    with pytest.raises(BrokerError, match=r"127\.0\.0\.1:1 ") as caught:
        runtime.run(counting(topic, "out"), until="now", flags={"broker": "127.0.0.1:1"}, display=Silent())
    assert caught.value.fix


def test_an_expression_that_fails_on_a_row_makes_a_dead_letter_or_ends_the_run_at_its_line(project: Any, topic: str) -> None:
    put(project, topic, [{"k": "a", "v": 0}, {"k": "b", "v": 2}])
    app = hr.App(f"divide-{topic}")
    app.stream(topic, schema="k string, v int").with_columns(share="1 / v").to(f"{topic}-out")
    (total,) = run(app, project).totals
    assert (total.rows_in, total.rows_out, total.bad) == (2, 1, 1)
    strict = hr.App(f"strict-{topic}")
    strict.stream(topic, schema="k string, v int", bad="fail").with_columns(
        share="1 / v",
    ).to(f"{topic}-strict")
    with pytest.raises(BadRecord) as caught:
        run(strict, project)
    assert re.search(f"topic {topic}, partition [0-9], offset 0: Division by zero", caught.value.message)
    assert caught.value.where is not None
    assert caught.value.where.code.endswith(".with_columns(")


def test_what_apply_does_and_real_time_mode_cannot_is_reported_at_its_line(project: Any, topic: str) -> None:
    topics.create(project.connection, topic, partitions=1)
    app = hr.App(f"apply-{topic}")
    rows = app.stream(topic, schema="k string, v int")
    rows.apply(lambda frame: frame.withColumn("v", udf(lambda v: v + 1, "int")("v"))).to(f"{topic}-out")
    with pytest.raises(RunError, match="can't run in real-time mode: Spark's ArrowEvalPython") as caught:
        runtime.run(app, mode="realtime", flags={"broker": project.address}, display=Silent())
    assert caught.value.where is not None
    assert caught.value.where.code.startswith("rows.apply(")


def test_a_function_that_fails_is_named_with_the_record(project: Any, topic: str) -> None:
    @hr.udf("int")
    def cautious(v: int) -> int:
        raise ValueError(f"not {v}!")

    put(project, topic, [{"k": "a", "v": 7}])
    app = hr.App(f"careful-{topic}")
    app.stream(topic, schema="k string, v int", bad="fail").with_columns(w="cautious(v)").to(f"{topic}-out")
    with pytest.raises(BadRecord) as caught:
        run(app, project)
    assert "ValueError: not 7!" in caught.value.message
    assert f"fails on a record: topic {topic}, partition " in caught.value.message
    assert caught.value.where is not None


def test_a_changed_aggregate_does_not_read_the_old_ones_state(project: Any, topic: str) -> None:
    put(project, topic, [{"k": "a", "v": 1}])
    run(counting(topic, f"{topic}-out"), project)
    app = hr.App(f"count-{topic}")
    app.stream(topic, schema="k string, v int").key_by("k").agg(most="max(v)").to(f"{topic}-out")
    with pytest.raises(StateError) as caught:
        run(app, project)
    assert f"was: aggregate n=count(*), total=sum(v) by k of {topic}" in caught.value.message
    assert f"now: aggregate most=max(v) by k of {topic}" in caught.value.message


def test_a_filter_may_change_and_the_state_goes_on(project: Any, topic: str) -> None:
    put(project, topic, [{"k": "a", "v": 1}])
    run(counting(topic, f"{topic}-out"), project)
    put(project, topic, [{"k": "a", "v": 1}, {"k": "a", "v": 100}])
    app = hr.App(f"count-{topic}")
    app.stream(topic, schema="k string, v int").where("v > 50").key_by("k").agg(n="count(*)", total="sum(v)").to(f"{topic}-out")
    run(app, project)
    assert rows_of(project, f"{topic}-out")[-1] == {"k": "a", "n": 2, "total": 101}


def test_a_renamed_query_does_not_silently_begin_anew(project: Any, topic: str) -> None:
    put(project, topic, [{"k": "a", "v": 1}])
    run(counting(topic, f"{topic}-out"), project)
    app = hr.App(f"count-{topic}")
    counts = app.stream(topic, schema="k string, v int").key_by("k").agg(n="count(*)", total="sum(v)")
    counts.to(f"{topic}-copy")
    counts.to(f"{topic}-out")
    with pytest.raises(StateError, match=f'name="{topic}-out"'):
        run(app, project)


def test_a_query_that_is_given_a_new_name_begins_anew(project: Any, topic: str) -> None:
    put(project, topic, [{"k": "a", "v": 1}])
    run(counting(topic, f"{topic}-out"), project)
    app = hr.App(f"count-{topic}")
    app.stream(topic, schema="k string, v int").key_by("k").agg(n="count(*)").to(f"{topic}-out", name="other")
    assert run(app, project).totals[0].rows_in == 1


def test_a_query_that_reads_what_another_writes_runs_after_it(project: Any, topic: str) -> None:
    put(project, topic, [{"k": "a", "v": i} for i in range(10)])
    app = hr.App(f"chain-{topic}")
    middle, out = f"{topic}-middle", f"{topic}-out"
    app.stream(middle, schema="k string, w int").agg(most="max(w)").to(out)
    app.stream(topic, schema="k string, v int").select("k", w="v * 2").to(middle)
    run(app, project)
    assert rows_of(project, out) == [{"most": 18}]


def test_output_topics_are_created_and_several_get_the_same_rows(project: Any, topic: str) -> None:
    put(project, topic, [{"k": "a", "v": 1}, {"k": "b", "v": 2}])
    app = hr.App(f"copies-{topic}")
    stream = app.stream(topic, schema="k string, v int").key_by("k")
    stream.to(f"{topic}-1")
    stream.to(f"{topic}-2")
    assert len(run(app, project).totals) == 1
    assert topics.exists(project.connection, f"{topic}-2")
    by_key = sorted(rows_of(project, f"{topic}-1"), key=lambda row: row["k"])
    assert (
        by_key == sorted(rows_of(project, f"{topic}-2"), key=lambda row: row["k"]) == [{"k": "a", "v": 1}, {"k": "b", "v": 2}]
    )


def test_a_topic_that_was_deleted_and_created_again_is_refused(project: Any, topic: str) -> None:
    put(project, topic, [{"k": "a", "v": i} for i in range(3)])
    run(counting(topic, f"{topic}-out"), project)
    topics.delete(project.connection, topic)
    put(project, topic, [{"k": "a", "v": i} for i in range(5)])
    with pytest.raises(StateError, match="it was deleted and created again"):
        run(counting(topic, f"{topic}-out"), project)


def test_a_second_run_of_an_application_names_the_first(project: Any, topic: str) -> None:
    put(project, topic, [{"k": "a", "v": 1}])
    app = counting(topic, f"{topic}-out")
    with ownership.owned(str(Path(".headrace/state").resolve()), app.name, print), pytest.raises(StateError) as caught:
        run(app, project)
    assert f"is running already, as process {os.getpid()}" in caught.value.message


@pytest.mark.parametrize("damage", ["", "{", "{}", "[]", None])
def test_a_checkpoint_that_does_not_say_whose_it_is_is_refused(project: Any, topic: str, damage: str | None) -> None:
    put(project, topic, [{"k": "a", "v": 1}])
    app = counting(topic, f"{topic}-out")
    run(app, project)
    manifest = Path(".headrace/state") / app.name / f"{topic}-out" / "headrace.json"
    if damage is None:
        manifest.unlink()
    else:
        manifest.write_text(damage)
    with pytest.raises(StateError, match="does not say what it was made for"):
        run(app, project)


@pytest.mark.parametrize("format", ["json", "text"])
def test_a_bad_record_is_found_even_if_no_column_is_used(project: Any, topic: str, format: Any) -> None:
    send.send(project.connection, topic, [Record(b'{"k": "a"}'), Record(b"\xff not json")], create=True)
    app = hr.App(f"unused-{topic}")
    schema = "k string" if format == "json" else None
    app.stream(topic, format=format, schema=schema, bad="fail").count().to(f"{topic}-out")
    with pytest.raises(BadRecord, match=r"(invalid UTF-8|expected a value)\n"):
        run(app, project)


def test_the_content_of_a_key_and_the_time_belong_to_the_state(project: Any, topic: str) -> None:
    put(project, topic, [{"k": "a", "v": 1}])

    def app(key: str) -> hr.App:
        made = hr.App(f"keys-{topic}")
        made.stream(topic, schema="k string, v int").key_by(k2=key).count().to(f"{topic}-out")
        return made

    run(app("upper(k)"), project)
    run(app("upper(k)"), project)
    with pytest.raises(StateError, match=r"k2=upper\(k\)"):
        run(app("lower(k)"), project)


def test_a_changed_type_of_what_is_kept_is_refused_before_any_record_comes(project: Any, topic: str) -> None:
    put(project, topic, [{"k": "1", "v": 1, "w": 1, "at": "2024-01-01T10:00:00Z"}])

    def app(fields: str) -> hr.App:
        made = hr.App(f"types-{topic}")
        stream = made.stream(topic, schema=f"{fields}, at timestamp", time="at", lateness="1 minute", bad="skip")
        stream.key_by("k").agg(n="sum(v)").to(f"{topic}-sums", name="sums")
        stream.key_by("k").window(hr.tumbling("1 minute"), emit="final").agg(share="sum(v) / count(*)").to(
            f"{topic}-w", name="w"
        )
        stream.dedupe("w", within="1 minute").select("k").to(f"{topic}-once", name="once")
        others = stream.select("k", "w as other")
        stream.select("k", "v").join(others, on="k", within="1 minute").select("k", "v").to(f"{topic}-pairs", name="pairs")
        return made

    def refused(fields: str) -> str:
        with pytest.raises(StateError) as caught:
            run(app(fields), project)
        return str(caught.value)

    run(app("k string, v int, w int"), project)
    run(app("k string, v int, w int, unused date"), project)
    text = refused("k string, v double, w int")
    assert f"was: aggregate n=sum(v) by k of {topic}: k string, sum(v) bigint\n" in text
    assert f"now: aggregate n=sum(v) by k of {topic}: k string, sum(v) double\n" in text
    assert "undo the change" in text
    state_of = Path(".headrace/state") / f"types-{topic}"
    for query, change, was, now in (
        (
            "w",
            "k string, v double, w int",
            "k string, sum(v) bigint, count(1) bigint",
            "k string, sum(v) double, count(1) bigint",
        ),
        ("once", "k string, v int, w long", ": w int\n", ": w bigint\n"),
        ("pairs", "k string, v long, w int", "join of k string, v int, _time timestamp with", "join of k string, v bigint"),
    ):
        # Those before it would be refused first.
        hidden = [folder for folder in state_of.iterdir() if folder.is_dir() and folder.name != query]
        for folder in hidden:
            folder.rename(folder.with_name(f".{folder.name}"))
        text = refused(change)
        assert f"query '{query}' has a checkpoint that keeps other things" in text
        assert was in text.partition("now:")[0]
        assert now in text.partition("now:")[2]
        for folder in hidden:
            folder.with_name(f".{folder.name}").rename(folder)


def test_a_window_longer_than_its_topic_remembers_is_reported_at_its_line(project: Any, topic: str) -> None:
    topics.create(project.connection, f"{topic}-short", config={"retention.ms": "60000"})
    said: list[str] = []

    class Heard(Silent):
        def say(self, text: str) -> None:
            said.append(text)

    app = hr.App(f"short-{topic}")
    stream = app.stream(f"{topic}-short", schema="k int, v int", lateness="1 second").key_by("k")
    stream.window(hr.tumbling("1 hour")).count().to(f"{topic}-hours")
    runtime.run(app, until="now", flags={"broker": project.address}, display=Heard())
    (note,) = [text for text in said if "longer than the topic" in text]
    assert "test_run.py:" in note
    assert "(1 minute)" in note
