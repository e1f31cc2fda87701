"""The rules of the dispatcher, mostly with functions as receivers and a clock that stands still."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from typing import Any

import pytest

import headrace as hr
from headrace.effects import dispatch, worker
from headrace.effects.dispatch import Dispatcher
from headrace.effects.effect import Effect
from headrace.effects.worker import pause
from headrace.errors import HeadraceError, PlanError, StateError
from headrace.sinks.call import NotDelivered
from tests.effects.conftest import MINUTE, Bench
from tests.effects.receivers import HttpReceiver, Log, free_port


class Receiver:
    """Does what it is told for each row's id, once for each time it stands there; else it takes the row."""

    def __init__(self, **errors: list[BaseException]) -> None:
        self.errors = errors
        self.log = Log()

    @property
    def got(self) -> list[str]:
        return self.log.entries

    def effect(self, name: str = "tell", **options: Any) -> Effect:
        return hr.sinks.call(self, name=name, **options)

    def __call__(self, row: dict[str, Any], id: str) -> None:
        self.log.add(id)
        if self.errors.get(id):
            raise self.errors[id].pop(0)


def test_each_row_is_called_once_with_its_id(bench: Bench) -> None:
    got: list[Any] = []
    effect = hr.sinks.call(lambda row, key: got.append((row, key)), name="tell")
    assert bench.send(effect, a={"n": 1}, b={"n": 0.5}) == {"a": "SENT", "b": "SENT"}
    assert got == [({"n": 1}, "a"), ({"n": 0.5}, "b")]


def test_a_row_is_sending_on_disk_before_it_is_sent_and_until_its_outcome_is(bench: Bench) -> None:
    seen: list[str] = []

    def look(row: dict[str, Any], id: str) -> None:
        other = sqlite3.connect(bench.file)
        seen.extend(state for (state,) in other.execute("SELECT state FROM outbox ORDER BY created"))
        other.close()

    assert bench.send(hr.sinks.call(look), a={}, b={}) == {"a": "SENT", "b": "SENT"}
    assert seen == ["SENDING", "PENDING", "SENT", "SENDING"]


def test_an_exception_is_doubt(bench: Bench) -> None:
    receiver = Receiver(a=[ValueError("what?")], b=[SystemExit(1)])
    assert bench.send(receiver.effect(), a={}, b={}, c={}) == {"a": "UNKNOWN", "b": "UNKNOWN", "c": "SENT"}
    assert bench.cause("a") == "the function raised ValueError: what?"
    assert receiver.got == ["a", "b", "c"]


def test_what_the_function_says_was_not_delivered_is_tried_again_or_has_failed(bench: Bench) -> None:
    receiver = Receiver(a=[NotDelivered("busy")], b=[NotDelivered("never", again=False)])
    assert bench.send(receiver.effect(), a={}, b={}) == {"a": "PENDING", "b": "FAILED"}
    assert (bench.cause("a"), bench.cause("b")) == ("busy", "never")
    bench.clock.pass_by(1)
    assert bench.send(receiver.effect(), c={}) == {"c": "SENT"}
    assert receiver.got == ["a", "b", "a", "c"]


def test_pauses_double_up_to_an_hour_and_differ_by_chance() -> None:
    assert [pause(n, 3600 * 10**6, 1.0) for n in (1, 2, 3, 12, 13, 100)] == [
        seconds * 10**6 for seconds in (1, 2, 4, 2048, 3600, 3600)
    ]
    assert pause(3, 3600 * 10**6, 0.0) == 2 * 10**6


def test_a_row_is_tried_as_often_as_it_may_with_growing_pauses(bench: Bench) -> None:
    receiver = Receiver(a=[NotDelivered(f"busy {n}") for n in range(10)])
    effect = receiver.effect(retries=3)
    bench.insert(effect, a={}, b={})
    dispatcher = bench.start(effect)
    tries: list[int] = []
    for seconds in range(12):
        assert dispatcher.wait_idle(20)
        tries += [seconds] * (receiver.got.count("a") - len(tries))
        bench.clock.pass_by(1)
    assert tries == [0, 1, 3, 7]
    assert receiver.got.count("b") == 1
    assert bench.state("a") == "FAILED"
    assert bench.cause("a") == "given up after 4 attempts: busy 3"


def test_at_least_once_tries_again_after_doubt_and_gives_up_as_unknown(bench: Bench) -> None:
    receiver = Receiver(a=[ValueError("what?")], b=[ValueError("what?")] * 2)
    effect = receiver.effect(on_doubt="at_least_once", retries=1)
    assert bench.send(effect, a={}, b={}) == {"a": "PENDING", "b": "PENDING"}
    bench.clock.pass_by(1)
    assert bench.send(effect, c={}) == {"c": "SENT"}
    assert (bench.state("a"), bench.state("b")) == ("SENT", "UNKNOWN")
    assert bench.cause("b").startswith("given up after 2 attempts")


def test_what_a_crash_left_goes_again_or_is_unknown(bench: Bench) -> None:
    receiver = Receiver()
    once, often = receiver.effect("once"), receiver.effect("often", on_doubt="at_least_once")
    bench.insert(once, a={})
    bench.insert(often, b={})
    for effect in (once, often):
        bench.outbox.advance(effect.name, [], 1, now=bench.clock())
    dispatcher = bench.start(once, often)
    assert dispatcher.wait_idle(20)
    assert (bench.state("a"), bench.state("b")) == ("UNKNOWN", "SENT")
    assert receiver.got == ["b"]
    assert bench.said[0].startswith("1 row was being sent when the last run ended: UNKNOWN")


def test_a_rate_holds_also_across_a_restart(bench: Bench) -> None:
    receiver = Receiver()
    effect = receiver.effect(rate="2 per minute")
    bench.insert(effect, a={}, b={}, c={}, d={}, e={})
    dispatcher = bench.start(effect)
    assert receiver.log.wait(2)
    assert not dispatcher.wait_idle(0.1)
    assert receiver.got == ["a", "b"]
    assert dispatcher.stop()
    bench.clock.pass_by(30)
    dispatcher = bench.start(effect)
    assert not dispatcher.wait_idle(0.1)
    assert receiver.got == ["a", "b"]
    bench.clock.pass_by(31)
    dispatcher.poke()
    assert receiver.log.wait(4)
    assert not dispatcher.wait_idle(0.1)
    assert receiver.got == ["a", "b", "c", "d"]
    bench.clock.pass_by(61)
    assert dispatcher.wait_idle(20)
    assert receiver.got == ["a", "b", "c", "d", "e"]


def test_effects_do_not_wait_for_each_other(bench: Bench) -> None:
    entered, leave = threading.Event(), threading.Event()

    def stuck(row: dict[str, Any], id: str) -> None:
        entered.set()
        assert leave.wait(20)

    receiver = Receiver()
    slow, quick = hr.sinks.call(stuck), receiver.effect("quick", on_doubt="at_least_once")
    bench.insert(slow, a={})
    bench.insert(quick, b={})
    dispatcher = bench.start(slow, quick)
    assert entered.wait(20)
    assert receiver.log.wait(1)
    assert not dispatcher.wait_idle(0.1)
    leave.set()
    assert dispatcher.wait_idle(20)
    assert bench.state("a") == "SENT"


@pytest.mark.parametrize(("poll", "poke"), [(1000.0, True), (0.05, False)])
def test_new_rows_go_at_once_after_a_poke_and_soon_without(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, poll: float, poke: bool
) -> None:
    monkeypatch.setattr(worker, "_POLL", poll)
    receiver = Receiver()
    effect = receiver.effect()
    dispatcher = bench.start(effect)
    assert dispatcher.wait_idle(20)
    bench.insert(effect, a={})
    if poke:
        dispatcher.poke()
    assert receiver.log.wait(1)


def test_stop_leaves_the_rest_for_the_next_run(bench: Bench) -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow(row: dict[str, Any], id: str) -> None:
        entered.set()
        assert leave.wait(20)

    effect = hr.sinks.call(slow, on_doubt="at_least_once")
    bench.insert(effect, a={}, b={}, c={})
    dispatcher = bench.start(effect)
    assert entered.wait(20)
    assert not dispatcher.stop(timeout=0.1)
    with pytest.raises(StateError, match="being sent already"):
        bench.start(effect)
    leave.set()
    assert dispatcher.stop()
    assert [bench.state(id) for id in "abc"] == ["SENT", "PENDING", "PENDING"]
    assert bench.send(effect, d={}) == {"d": "SENT"}
    assert [bench.state(id) for id in "abc"] == ["SENT", "SENT", "SENT"]


def test_rows_that_were_taken_together_and_not_tried_are_as_before(bench: Bench, http: HttpReceiver) -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow(handler: Any) -> None:
        entered.set()
        assert leave.wait(20)
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    http.answers.append(slow)
    effect = hr.sinks.webhook(http.url, private=True)
    bench.insert(effect, a={}, b={}, c={})
    dispatcher = bench.start(effect)
    assert entered.wait(20)
    assert {bench.state(id) for id in "abc"} == {"SENDING"}
    assert not dispatcher.stop(timeout=0.1)
    leave.set()
    assert dispatcher.stop()
    entries = [bench.outbox.find(id) for id in "abc"]
    assert [(entry.state, entry.attempts) for entry in entries if entry] == [("SENT", 1), ("PENDING", 0), ("PENDING", 0)]


def test_one_dispatcher_at_a_time_works_on_an_outbox(bench: Bench) -> None:
    effect = Receiver().effect()
    dispatcher = bench.start(effect)
    with pytest.raises(StateError, match=r"are being sent already, by process \d+"):
        Dispatcher(bench.file, [effect]).start()
    assert dispatcher.stop()
    with Dispatcher(bench.file, [effect]) as other:
        assert other.wait_idle(20)


def test_two_effects_of_one_name_are_refused_at_the_second(bench: Bench) -> None:
    with pytest.raises(PlanError) as e:
        bench.start(Receiver().effect(), Receiver().effect())
    assert "two effects are called 'tell'" in e.value.message
    assert e.value.where is not None


def test_rows_of_an_effect_that_the_program_lacks_are_reported(bench: Bench) -> None:
    bench.insert("gone", a={}, b={})
    dispatcher = bench.start(Receiver().effect())
    assert dispatcher.wait_idle(20)
    assert dispatcher.waiting() == {"gone": 2}
    assert bench.said[0].startswith("2 rows wait for the effect 'gone', which is not in the program\n  fix: ")


def test_many_losses_are_reported_once_and_not_one_by_one(bench: Bench) -> None:
    receiver = Receiver(**{f"r{n}": [ValueError("no")] for n in range(50)})
    bench.send(receiver.effect(), **{f"r{n}": {} for n in range(50)})
    assert len(bench.said) == 1
    assert "r0 is UNKNOWN" in bench.said[0]


def test_what_was_sent_long_ago_is_forgotten(bench: Bench) -> None:
    receiver = Receiver()
    assert bench.send(receiver.effect(), a={}) == {"a": "SENT"}
    bench.clock.pass_by((dispatch.KEEP_DAYS * 24 * 60 + 1) * 60)
    assert bench.send(receiver.effect(), b={}) == {"b": "SENT"}
    assert bench.outbox.find("a") is None


def test_rows_come_in_while_others_go_out(bench: Bench) -> None:
    receiver = Receiver()
    effect = receiver.effect()
    dispatcher = bench.start(effect)
    writer = sqlite3.connect(bench.file, timeout=30)
    for batch in range(20):
        with writer:
            rows = ((f"{batch}-{n}", effect.name, "{}", batch) for n in range(10))
            writer.executemany("INSERT INTO outbox(id, effect, row, created) VALUES (?, ?, ?, ?)", rows)
            writer.execute("INSERT OR REPLACE INTO marks(query, batch) VALUES ('q', ?)", (batch,))
        dispatcher.poke()
    writer.close()
    assert dispatcher.wait_idle(60)
    assert sorted(receiver.got) == sorted(f"{batch}-{n}" for batch in range(20) for n in range(10))


def test_what_can_not_be_reported_keeps_nothing_from_being_sent(bench: Bench) -> None:
    def deaf(text: str) -> None:
        raise OSError("no terminal")

    receiver = Receiver(a=[ValueError("what?")])
    effect = receiver.effect()
    bench.insert(effect, a={}, b={})
    with Dispatcher(bench.file, [effect], say=deaf) as dispatcher:
        assert dispatcher.wait_idle(20)
    assert (bench.state("a"), bench.state("b")) == ("UNKNOWN", "SENT")


class Stumbling:
    """An outbox whose disk is full when it is told so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = threading.Event()
        self.noticed = threading.Event()
        advance: Callable[..., Any] = dispatch.Outbox.advance

        def stumble(outbox: Any, *args: Any, **options: Any) -> Any:
            if self.full.is_set():
                self.noticed.set()
                raise sqlite3.OperationalError("database or disk is full")
            return advance(outbox, *args, **options)

        monkeypatch.setattr(dispatch.Outbox, "advance", stumble)


def test_a_full_disk_sends_nothing_twice(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Stumbling(monkeypatch)
    got: list[str] = []

    def fills(row: dict[str, Any], id: str) -> None:
        got.append(id)
        if id == "a":
            disk.full.set()

    effect = hr.sinks.call(fills)
    bench.insert(effect, a={}, b={})
    dispatcher = bench.start(effect)
    assert disk.noticed.wait(20)
    assert bench.state("a") == "SENDING"
    disk.full.clear()
    assert dispatcher.wait_idle(20)
    assert (got, bench.state("a"), bench.state("b")) == (["a", "b"], "SENT", "SENT")
    assert ["can't be written" in text for text in bench.said] == [True]


def test_a_bug_in_a_worker_ends_the_wait(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*args: Any, **options: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(dispatch.Outbox, "is_due", wrong)
    dispatcher = bench.start(Receiver().effect())
    with pytest.raises(HeadraceError, match="a bug"):
        dispatcher.wait_idle(20)


def test_the_order_is_kept_when_a_receiver_comes_back(bench: Bench) -> None:
    port = free_port()
    effect = hr.sinks.webhook(f"http://127.0.0.1:{port}/", private=True)
    bench.insert(effect, a={}, b={}, c={})
    dispatcher = bench.start(effect)
    assert dispatcher.wait_idle(20)
    assert {bench.state(id) for id in "abc"} == {"PENDING"}
    receiver = HttpReceiver(port=port)
    bench.clock.micros += MINUTE
    assert dispatcher.wait_idle(20)
    assert [got.key for got in receiver.log.entries] == ["a", "b", "c"]
    receiver.close()


def test_a_thread_that_ends_is_reported_to_those_who_ask(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    dispatcher = bench.start(Receiver().effect())
    assert dispatcher.wait_idle(20)
    dispatcher.check()
    monkeypatch.setattr(bench.clock, "micros", "broken")
    with pytest.raises(HeadraceError, match="no longer being sent") as over:
        dispatcher.wait_idle(20)
    assert over.value.fix == "start it again"
    with pytest.raises(HeadraceError, match="no longer being sent"):
        dispatcher.check()
