"""The commands, as typed, in a project whose embedded broker runs."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.broker import send, topics
from headrace.broker.records import Record
from headrace.cli import main

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def project(broker, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("HEADRACE_") and name != "HEADRACE_CACHE"]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(broker.config.root)


@pytest.fixture
def typed(project: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typed:
    def typed(*words: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = main(words)
        out = capsys.readouterr()
        return code, out.out, out.err

    return typed


def test_up_prints_the_address_of_the_running_broker(typed: Typed, broker) -> None:
    assert typed("up") == (0, broker.address + "\n", "")


def test_status_tells_where_the_broker_is(typed: Typed, broker) -> None:
    code, out, _ = typed("status", "--json")
    shown = json.loads(out)
    assert code == 0
    assert (shown["broker"], shown["address"], shown["answers"]) == ("embedded", broker.address, True)


def test_status_of_a_project_without_broker_is_1(typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = typed("status")
    assert code == 1
    assert "answers  False" in out
    assert typed("down") == (0, "the embedded broker was not running\n", "")
    assert not (tmp_path / ".headrace").exists()


def test_config_shows_values_with_their_origin_and_masks_secrets(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SECURITY_PROTOCOL", "SASL_SSL"), ("SASL_USERNAME", "me"), ("SASL_PASSWORD", "s3cret")):
        monkeypatch.setenv(f"HEADRACE_KAFKA_{name}", value)
    code, out, _ = typed("config", "--json", "--master", "local[2]")
    rows = {row["setting"]: (row["value"], row["from"]) for row in map(json.loads, out.splitlines())}
    assert code == 0
    assert rows["master"] == ("local[2]", "flag --master")
    assert rows["broker"] == ("embedded", "default")
    assert rows["kafka.sasl.password"] == ("********", "HEADRACE_KAFKA_SASL_PASSWORD")
    assert "s3cret" not in out + typed("config")[1]


def test_topics_are_created_listed_and_described(typed: Typed, topic: str) -> None:
    assert typed("topics", "create", topic, "--partitions", "2", "--config", "cleanup.policy=compact")[0] == 0
    listed = [json.loads(line) for line in typed("topics", "list", "--json")[1].splitlines()]
    assert {"topic": topic, "partitions": 2, "records": 0} in listed
    described = json.loads(typed("topics", "describe", topic, "--json")[1])
    assert described["config"] == {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}
    assert len(described["partitions"]) == 2
    assert "cleanup.policy = compact" in typed("topics", "describe", topic)[1]
    assert topic in typed("topics", "list")[1]


@pytest.mark.parametrize(("answer", "code", "left"), [("", 1, True), ("n\n", 1, True), ("y\n", 0, False)])
def test_delete_asks_first(typed: Typed, broker, topic: str, answer: str, code: int, left: bool) -> None:
    topics.create(broker.connection, topic)
    said = typed("topics", "delete", topic, stdin=answer)
    assert said[0] == code
    assert f"delete topic {topic} and its 0 records at {broker.address}? [y/N]" in said[2]
    assert topics.exists(broker.connection, topic) == left


def test_delete_with_yes_does_not_ask(typed: Typed, broker, topic: str) -> None:
    topics.create(broker.connection, topic)
    assert typed("topics", "delete", topic, "--yes") == (0, f"deleted {topic}\n", "")


def test_what_send_sends_peek_shows(typed: Typed, topic: str) -> None:
    lines = '{"symbol":"A","price":1.5}\n{"symbol":"B","price":2}\n'
    code, out, _ = typed("send", topic, "--key", "symbol", "--header", "from=test", "--create", stdin=lines)
    assert code == 0
    assert out.startswith(f"sent 2 records to {topic}")
    shown = {row["key"]: row for row in map(json.loads, typed("peek", topic, "--json")[1].splitlines())}
    assert shown["A"]["value"] == {"symbol": "A", "price": 1.5}
    assert shown["B"]["headers"] == {"from": "test"}
    assert 'A  {"symbol":"A","price":1.5}  (from=test)' in typed("peek", topic)[1]


def test_records_of_peek_can_be_sent_on_with_their_tombstones(typed: Typed, broker, topic: str) -> None:
    topics.create(broker.connection, topic, partitions=1)
    send.send(broker.connection, topic, [Record(b"1", b"a"), Record(b"2", b"b"), Record(None, b"a")])
    copy = f"{topic}-copy"
    typed("send", copy, "--records", "--create", stdin=typed("peek", topic, "--json", "-n", "0")[1])
    rows = [json.loads(line) for line in typed("peek", copy, "--table", "--json")[1].splitlines()]
    assert [(row["key"], row["value"]) for row in rows] == [("b", 2)]
    assert typed("peek", copy, "--table")[1].splitlines()[1].split()[:2] == ["b", "2"]


def test_peek_shows_ten_unless_asked_otherwise(typed: Typed, broker, topic: str) -> None:
    topics.create(broker.connection, topic, partitions=1)
    send.send(broker.connection, topic, [Record(str(n).encode()) for n in range(25)])

    def values(*words: str) -> list[int]:
        return [json.loads(line)["value"] for line in typed("peek", topic, "--json", *words)[1].splitlines()]

    assert values() == list(range(10))
    assert values("-n", "0") == list(range(25))
    assert values("--from", "20") == list(range(20, 25))
    assert values("--from", "5 minutes ago", "-n", "2") == [0, 1]
    assert values("--last", "3") == [22, 23, 24]


def test_a_bad_line_is_named_and_exits_with_1(typed: Typed, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"a":1}\nnot json\n')
    code, out, err = typed("send", topic, str(file), "--create")
    assert (code, out) == (1, "")
    assert err.startswith("error: this line is not JSON")
    assert f"at {file}:2: not json" in err
    assert typed("send", topic, str(file), "--raw")[0] == 0


def test_a_missing_topic_names_the_next_command(typed: Typed) -> None:
    # Like no other: of a similar one the error would ask whether it is meant.
    topic = "nobody-has-written-this"
    code, _, err = typed("peek", topic)
    assert code == 1
    assert (
        err == f"error: there is no topic {topic} at {err.split(' at ')[1].split()[0]}\n  fix: headrace topics create {topic}\n"
    )


def test_a_broker_that_is_down_is_one_sentence_and_the_next_step(typed: Typed, free_port: int) -> None:
    code, _, err = typed("topics", "list", "--broker", f"127.0.0.1:{free_port}")
    assert code == 1
    assert err.startswith(f"error: no Kafka broker answers at 127.0.0.1:{free_port} (flag --broker)\n  fix: start it")
    assert "Traceback" not in err


def test_a_reader_that_leaves_ends_peek_quietly(project: None, broker, topic: str) -> None:
    topics.create(broker.connection, topic, partitions=1)
    send.send(broker.connection, topic, [Record(b"x" * 1000)] * 500)
    line = f"{sys.executable} -m headrace peek {topic} -n 0 | head -1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=broker.config.root)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
