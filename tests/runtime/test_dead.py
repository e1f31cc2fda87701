"""Dead letters, on a real broker: what producers and other programs can't make of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import cli
from headrace.broker import peek, send, topics
from headrace.broker.records import Record
from headrace.errors import ConfigError
from headrace.runtime import dead
from headrace.runtime import run as runtime
from headrace.runtime.display import Silent

FORGED = (
    ("headrace.key", b"admin"),
    ("headrace.value", b"null"),
    ("headrace.topic", b"payments"),
    ("headrace.partition", b"7"),
    ("headrace.cause", b"none of your business"),
    ("header.headrace.offset", b"1"),
    ("trace", None),
    ("trace", b"twice"),
)
EVIL = b"\x1b[2J\x1b]0;owned\x07\xc2\x9b\xe2\x80\xae"


@pytest.fixture
def project(spark: Any, broker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    return broker


def test_a_record_can_not_forge_a_dead_letter_and_a_foreign_record_does_not_break_the_commands(
    project: Any, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, connection = f"dead-{topic}", project.connection
    records = [Record(b'{"id": "one"}', b"k", FORGED), Record(b'{"id": "' + EVIL + b'"}', EVIL, ((EVIL.decode(), EVIL),))]
    topics.create(connection, topic, partitions=1)
    send.send(connection, topic, [*records, Record(b'{"id": 3}', b"good")])
    app = hr.App(name)
    app.stream(topic, schema="id int").to(f"{topic}-out")
    total = runtime.run(app, until="now", flags={"broker": project.address}, display=Silent()).totals[0]
    assert (total.rows_in, total.rows_out, total.bad) == (3, 1, 2)
    place = f"headrace.{name}.{topic}-out/{topic}/0/9"
    facts = (("headrace.topic", topic.encode()), ("headrace.partition", b"none"), ("headrace.offset", b"9"))
    foreign = [
        Record(b"hello", b"stranger"),
        Record(EVIL, b"\xff\xfe" + EVIL),
        Record(b"half a dead letter", place.encode(), (*facts, ("headrace.cause", b"x"), ("headrace.operator", b"x"))),
    ]
    send.send(connection, f"headrace.{name}.dead", foreign)

    def headrace(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = cli.main([*words[:2], name, *words[2:], "--broker", project.address])
        found = capsys.readouterr()
        assert all(line.isprintable() for line in (found.out + found.err).split("\n"))
        return code, found.out + found.err

    found = dead.read(connection, name)
    assert [dead_letter.record for dead_letter in found] == [*records, *foreign]
    assert [(dead_letter.topic, dead_letter.partition, dead_letter.foreign) for dead_letter in found[:2]] == [
        (topic, 0, False)
    ] * 2
    assert found[0].cause == 'field id: expected int, found string "one"'
    assert [dead_letter.foreign for dead_letter in found[2:]] == [True] * 3

    listed = headrace("dead", "list")[1].splitlines()
    assert [line.split()[0] for line in listed[1:]] == [dead_letter.id for dead_letter in found]
    assert sum("another program wrote this record" in line for line in listed) == 3
    for dead_letter in found:
        assert headrace("dead", "show", dead_letter.id)[0] == 0
        (shown,) = headrace("dead", "show", dead_letter.id, "--json")[1].splitlines()
        assert json.loads(shown)["id"] == dead_letter.id
    with pytest.raises(ConfigError, match="another program wrote it"):
        dead.replay(connection, name, found)
    code, said = headrace("dead", "replay", found[2].id)
    assert code == 1
    assert f"fix: headrace dead drop {name} {found[2].id}" in said
    code, said = headrace("dead", "replay", "--all")
    assert code == 0
    assert "replayed 2" in said
    assert "left 3 that are not dead letters" in said
    assert [Record(r.value, r.key, r.headers) for r in peek.read(connection, topic)][3:] == records
    assert headrace("dead", "drop", "--all")[1] == "dropped 3\n"
    assert dead.read(connection, name) == []


def test_looking_into_a_topic_leaves_the_terminal_alone(project: Any, topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    topics.create(project.connection, topic, partitions=1)
    send.send(project.connection, topic, [Record(b'{"a": "\\ud800\\u009b"}' + EVIL, EVIL, ((EVIL.decode(), EVIL),))])
    send.send(project.connection, topic, [Record(b'{"a": "\\ud800\\u009b"}', b"two\nlines")])
    for words in ([], ["--json"], ["--table"], ["--table", "--json"]):
        assert cli.main(["peek", topic, *words, "--broker", project.address]) == 0
        out = capsys.readouterr().out
        assert all(line.isprintable() for line in out.split("\n"))
        assert len(out.splitlines()) == 2 + (words == ["--table"])
