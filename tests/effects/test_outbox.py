from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest

from headrace.effects import outbox as outboxes
from headrace.effects.outbox import FORMAT, Outbox, Settled
from headrace.errors import ConfigError, StateError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "market" / "effects.db"


def ids(outbox: Outbox, most: int = 10, now: int = 100) -> list[str]:
    return [item.id for item, _ in outbox.advance("mail", [], most, now=now)]


def test_the_outbox_is_for_its_user_only(file: Path) -> None:
    outbox = Outbox(file)
    outbox.insert("mail", [("a", "{}")])
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [stat.S_IMODE(each.stat().st_mode) for each in sorted(file.parent.iterdir())] == [0o600] * 3
    outbox.close()


def test_every_commit_is_on_disk(file: Path) -> None:
    outbox = Outbox(file)
    assert outbox._read("PRAGMA journal_mode") == [("wal",)]
    assert outbox._read("PRAGMA synchronous") == [(2,)]


def test_another_connection_may_insert_in_the_form_that_was_agreed(file: Path) -> None:
    outbox = Outbox(file)
    with sqlite3.connect(file) as writer:
        for _ in range(2):
            writer.execute("INSERT OR IGNORE INTO outbox(id, effect, row, created) VALUES ('a', 'mail', '{\"n\": 1}', 5)")
        writer.execute("INSERT INTO marks(query, checkpoint, batch, hash, rows) VALUES ('q', 'c', 0, 'h', 1)")
    writer.close()
    (entry,) = outbox.entries(("PENDING",))
    assert entry == ("a", "mail", '{"n": 1}', 5, "PENDING", 0, 0, None, None)


def test_an_id_is_taken_once(file: Path) -> None:
    outbox = Outbox(file)
    assert outbox.insert("mail", [("a", "{}"), ("b", "{}"), ("a", "{}")]) == 2
    ids(outbox)
    outbox.advance("mail", [Settled("a", "SENT")], 0, now=1)
    assert outbox.insert("mail", [("a", "{}")]) == 0


def test_the_oldest_are_taken_first_and_only_those_that_are_due(file: Path) -> None:
    outbox = Outbox(file)
    for id, created in (("c", 3), ("a", 1), ("b", 2), ("d", 3)):
        outbox.insert("mail", [(id, "{}")], now=created)
    outbox.insert("other", [("x", "{}")], now=0)
    assert ids(outbox, most=2) == ["a", "b"]
    outbox.advance("mail", [Settled("a", "PENDING", "not now", due=200), Settled("b", "SENT")], 0, now=100)
    assert outbox.next_due("mail") == 0
    assert ids(outbox, now=100) == ["c", "d"]
    assert outbox.next_due("mail") == 200
    assert not outbox.is_due("mail", now=199)
    assert ids(outbox, now=200) == ["a"]
    assert outbox.next_due("mail") is None


def test_what_is_due_is_found_without_sorting(file: Path) -> None:
    outbox = Outbox(file)
    seen: list[str] = []
    outbox._db.set_trace_callback(seen.append)
    ids(outbox)
    outbox._db.set_trace_callback(None)
    query = next(text for text in seen if text.startswith("SELECT id, row"))
    plan = " ".join(row[-1] for row in outbox._read(f"EXPLAIN QUERY PLAN {query}"))
    assert "USING INDEX outbox_open" in plan
    assert "TEMP B-TREE" not in plan


def test_an_attempt_counts_unless_it_was_none(file: Path) -> None:
    outbox = Outbox(file)
    outbox.insert("mail", [("a", "{}")])
    assert [attempts for _, attempts in outbox.advance("mail", [], 1, now=1)] == [1]
    assert [attempts for _, attempts in outbox.advance("mail", [Settled("a", "PENDING")], 1, now=1)] == [2]
    assert [attempts for _, attempts in outbox.advance("mail", [Settled("a", "PENDING", counts=False)], 1, now=1)] == [2]


def test_what_was_being_sent_when_the_process_ended_goes_again_or_is_unknown(file: Path) -> None:
    outbox = Outbox(file)
    for effect in ("hook", "mail", "gone"):
        outbox.insert(effect, [(effect, "{}")])
        outbox.advance(effect, [], 1, now=1)
    assert outbox.recover({"hook"}, now=2) == (1, 2)
    assert {e.id: e.state for e in outbox.entries(outboxes.STATES)} == {"hook": "PENDING", "mail": "UNKNOWN", "gone": "UNKNOWN"}
    assert outbox.recover(set(), now=2) == (0, 0)


def test_a_person_decides_what_is_not_being_sent(file: Path) -> None:
    outbox = Outbox(file)
    outbox.insert("mail", [(id, "{}") for id in "abcd"])
    outbox.advance("mail", [], 3, now=1)
    outbox.advance("mail", [Settled("a", "FAILED", "no"), Settled("b", "SENT")], 0, now=1)
    assert outbox.resolve(["a", "b", "c", "d", "nothing"], "DROPPED") == ["a", "d"]
    assert {e.id: e.state for e in outbox.entries(outboxes.STATES)} == {
        "a": "DROPPED",
        "b": "SENT",
        "c": "SENDING",
        "d": "DROPPED",
    }


def test_old_rows_are_forgotten_and_ids_that_count_for_ever_are_not(file: Path) -> None:
    outbox = Outbox(file)
    for effect in ("keyed", "plain", "gone"):
        outbox.insert(effect, [(f"{effect}-{n}", '{"who": "me"}') for n in range(3)])
        outbox.advance(effect, [], 3, now=1)
        done = [Settled(f"{effect}-0", "SENT"), Settled(f"{effect}-1", "DROPPED"), Settled(f"{effect}-2", "FAILED")]
        outbox.advance(effect, done, 0, now=10)
    assert outbox.purge({"keyed"}, {"keyed", "plain"}, before=10) == 0
    assert outbox.purge({"keyed"}, {"keyed", "plain"}, before=11, most=4) == 4
    assert outbox.purge({"keyed"}, {"keyed", "plain"}, before=11, most=4) == 2
    assert outbox.purge({"keyed"}, {"keyed", "plain"}, before=11, most=4) == 0
    left = {e.id: e.row for e in outbox.entries(outboxes.STATES)}
    kept = '{"who": "me"}'
    assert left == {"keyed-0": "", "keyed-1": "", "keyed-2": kept, "plain-2": kept, "gone-0": "", "gone-1": "", "gone-2": kept}
    assert outbox.insert("keyed", [("keyed-0", "{}")]) == 0


def test_a_newer_format_is_refused(file: Path) -> None:
    Outbox(file).close()
    with sqlite3.connect(file) as db:
        db.execute(f"PRAGMA user_version = {FORMAT + 1}")
    db.close()
    with pytest.raises(StateError, match="has format 2, and this Headrace knows formats up to 1"):
        Outbox(file)


def test_what_is_not_an_outbox_is_refused(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("text " * 1000)
    with pytest.raises(StateError, match="can't be opened"):
        Outbox(file)
    file.unlink()
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE other(a)")
    db.close()
    with pytest.raises(StateError, match="not an outbox"):
        Outbox(file)


def test_an_outbox_that_must_be_there_is_not_made(file: Path) -> None:
    with pytest.raises(StateError, match="there is no outbox"):
        Outbox(file, create=False)
    assert not file.exists()
    file.parent.mkdir()
    file.touch()
    with pytest.raises(StateError, match="is empty"):
        Outbox(file, create=False)


def test_the_outbox_is_beside_the_checkpoints_on_this_machine() -> None:
    assert outboxes.path("/state", "market") == Path("/state/market/effects.db")
    with pytest.raises(ConfigError, match="on a disk of this machine"):
        outboxes.path("hdfs://cluster/state", "market")
