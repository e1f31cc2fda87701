"""The server on a real broker, asked over HTTP: lookups, pages, earlier versions, pushed changes, and who is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from headrace.broker import topics
from headrace.serve import routes

SECONDS = 60.0
SCHEMA = "account string, day date, balance int"


class Served:
    """`headrace serve` in a process of its own, and a client of it."""

    def __init__(self, broker: Any, folder: Path, topic: str, *options: str, schema: str = SCHEMA) -> None:
        self.topic, self.folder = topic, folder
        command = [
            "-m",
            "headrace",
            "serve",
            "--topic",
            topic,
            "--schema",
            schema,
            "--port",
            "0",
            "--name",
            "balances",
            *options,
        ]
        self.command = [sys.executable, *command, "--broker", broker.address]
        self.producer = broker.connection.producer(linger_ms=0)
        self.start()

    def start(self) -> None:
        self._said = (self.folder / "stderr").open("w+")
        self.process = subprocess.Popen(self.command, cwd=self.folder, stderr=self._said)
        try:
            self._until(lambda: "views at " in self.said(), "it listens")
            url = self.said().partition("views at ")[2].partition("/views")[0]
            self.token = next((self.folder / ".headrace" / "serve").glob("token")).read_text()
            self.http = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {self.token}"}, timeout=30)
            self._until(lambda: self.http.get("/ready").status_code == 200, "it is ready")
        except BaseException:
            self.process.kill()
            raise

    def said(self) -> str:
        return (self.folder / "stderr").read_text()

    def _until(self, holds: Any, what: str) -> None:
        end = time.monotonic() + SECONDS
        while not holds():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < end, f"{what}: {self.said()}"
            time.sleep(0.05)

    def put(self, rows: list[dict[str, Any]], *, deleted: bool = False) -> str:
        """Sends rows, or deletes them; the place they are at, for `at_least`."""
        ends: dict[int, int] = {}
        for row in rows:
            key = json.dumps({"account": row["account"], "day": row["day"]})
            value = None if deleted else json.dumps(row)
            self.producer.produce(
                self.topic, value, key, partition=0, on_delivery=lambda _, m: ends.update({m.partition(): m.offset() + 1})
            )
        self.producer.flush()
        return str(ends[0])

    def get(self, path: str, **asked: Any) -> Any:
        answer = self.http.get(path, params=asked)
        assert answer.status_code == 200, answer.text + self.said()
        return answer.json()

    def refused(self, path: str, status: int, **asked: Any) -> dict[str, Any]:
        answer = self.http.get(path, params=asked)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        return answer.json()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(SECONDS)

    def close(self) -> None:
        self.http.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(SECONDS)


@pytest.fixture
def served(broker: Any, topic: str, tmp_path: Path) -> Iterator[Served]:
    topics.create(broker.connection, topic, partitions=1)
    served = Served(broker, tmp_path, topic, "--key", "account,day", "--history", "1 hour")
    yield served
    served.close()


def row(account: str, day: int, balance: int) -> dict[str, Any]:
    return {"account": account, "day": f"2026-01-{day:02}", "balance": balance}


def events(answer: httpx.Response) -> Iterator[tuple[str, str, Any]]:
    """Name, id and data of server-sent events."""
    event: dict[str, str] = {}
    for line in answer.iter_lines():
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            event[name] = value
        elif event:
            yield event["event"], event.get("id", ""), json.loads(event["data"])
            event = {}


def test_rows_are_found_by_key_prefix_and_range_in_pages(served: Served) -> None:
    rows = [row(account, day, number) for number, account in enumerate("abc") for day in range(1, 11)]
    rows.append(row("a/b c", 1, 7))
    least = served.put(rows)
    answer = served.get("/views/balances/a/2026-01-03", at_least=least)
    assert answer["row"] == row("a", 3, 0)
    assert answer["fresh"]["place"] == least
    assert answer["fresh"]["lag"] == 0
    assert served.get(f"/views/balances/{quote('a/b c', safe='')}/2026-01-01")["row"]["balance"] == 7
    order = sorted(rows, key=lambda row: (row["account"], row["day"]))
    assert served.get("/views/balances")["rows"] == order
    assert served.get("/views/balances", reverse="true", limit=5)["rows"] == order[::-1][:5]
    assert served.get("/views/balances", prefix="b")["rows"] == [row("b", day, 1) for day in range(1, 11)]
    assert served.get("/views/balances", begins="a/")["rows"] == [row("a/b c", 1, 7)]
    found = served.get("/views/balances", **{"from": ["a", "2026-01-09"], "to": ["b", "2026-01-03"]})["rows"]
    assert found == [each for each in order if ("a", "2026-01-09") <= (each["account"], each["day"]) < ("b", "2026-01-03")]
    found = served.get("/views/balances", key=['["a","2026-01-01"]', '["x","2026-01-01"]'])["rows"]
    assert found == [row("a", 1, 0), None]
    served.put([row("a", 3, 0)], deleted=True)
    problem = served.refused("/views/balances/a/2026-01-03", 404, at_least=str(int(least) + 1))
    assert problem["detail"] == "balances has no row with the key a, 2026-01-03"


@pytest.mark.parametrize("reverse", ["false", "true"])
def test_pages_show_one_moment_while_rows_change(served: Served, reverse: str) -> None:
    chance = Random(served.topic)
    least = served.put([row("a", day, 0) for day in range(1, 29)])
    answer = served.get("/views/balances", limit=5, reverse=reverse, at_least=least)
    found = answer["rows"]
    while answer["next"]:
        least = served.put([row("a", day, 1) for day in chance.sample(range(1, 29), 5)])
        served.put([row("b", 1, 1)])
        served.put([row("a", chance.randrange(1, 29), 1)], deleted=True)
        answer = served.get("/views/balances", limit=5, reverse=reverse, page=answer["next"], at_least=least)
        found += answer["rows"]
    expected = [row("a", day, 0) for day in range(1, 29)]
    assert found == (expected[::-1] if reverse == "true" else expected)


def test_a_row_is_what_it_was_at_a_time(served: Served) -> None:
    times: list[float] = []
    for balance in range(3):
        least = served.put([row("a", 1, balance)])
        served.get("/views/balances", at_least=least)
        times.append(time.time())
        time.sleep(0.01)
    for balance, at in enumerate(times):
        assert served.get("/views/balances/a/2026-01-01", as_of=int(at * 1000))["row"]["balance"] == balance


def test_a_follower_misses_nothing_and_gets_nothing_twice_through_kills(served: Served) -> None:
    chance = Random(served.topic)
    state: dict[tuple[str, str], Any] = {}
    expected: dict[tuple[str, str], Any] = {}
    last: str | None = None
    number = 0
    for _ in range(3):
        headers = {} if last is None else {"Last-Event-ID": last}
        with served.http.stream("GET", "/views/balances/changes", headers=headers) as answer:
            assert answer.status_code == 200, answer.read()
            found = events(answer)
            if last is None:
                assert next(found)[0] == "complete"
            for _ in range(chance.randrange(2, 10)):
                number += 1
                each = row(chance.choice("abc"), chance.randrange(1, 4), number)
                key = (each["account"], each["day"])
                if key in expected and chance.random() < 0.3:
                    served.put([each], deleted=True)
                    del expected[key]
                else:
                    served.put([each])
                    expected[key] = each
                name, last, data = next(found)
                assert name == "change"
                assert data["before"] == state.get(key)
                assert data["after"] == expected.get(key)
                state.pop(key, None) if data["after"] is None else state.update({key: data["after"]})
        # Sent while nobody listens, and the server is killed and started again.
        for _ in range(3):
            number += 1
            each = row("a", chance.randrange(1, 4), number)
            served.put([each])
            expected[each["account"], each["day"]] = each
        served.kill()
        served.start()
        with served.http.stream("GET", "/views/balances/changes", headers={"Last-Event-ID": last}) as answer:
            found = events(answer)
            while state != expected:
                name, last, data = next(found)
                assert name == "change"
                key = (data["after"]["account"], data["after"]["day"])
                assert data["before"] == state.get(key)
                state[key] = data["after"]


def test_bad_requests_are_problems_that_say_what_to_do(served: Served) -> None:
    assert "the views are balances" in served.refused("/views/sales", 404)["detail"]
    assert "account, day: 2 values, not 1" in served.refused("/views/balances/a", 400)["detail"]
    problem = served.refused("/views/balances/a/soon", 400)
    assert problem["detail"] == "'soon' is no date; the key of balances is account string, day date"
    assert "no place" in served.refused("/views/balances", 400, at_least="x")["detail"]
    assert "no parameter colour" in served.refused("/views/balances", 400, colour="red")["detail"]
    assert "limit" in served.refused("/views/balances", 400, limit="0")["detail"]
    assert "page=" in served.refused("/views/balances", 400, page="bm8=")["detail"]
    assert "no time" in served.refused("/views/balances", 400, as_of="soon")["detail"]
    assert "is no JSON array" in served.refused("/views/balances", 400, key="a")["detail"]
    assert served.refused("/nothing", 404)["title"] == "not found"
    assert served.http.post("/views").status_code == 405
    assert served.refused("/views/balances", 504, at_least="1000000")["type"] == "/problems/not-there-yet"


def test_every_route_but_health_needs_the_token(served: Served) -> None:
    for route in routes.ROUTES:
        path = route.path.replace("{view}", "balances").replace("{key:path}", "a/2026-01-01")
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic " + served.token}):
            answer = httpx.get(str(served.http.base_url.join(path)), headers=headers)
            assert (answer.status_code == 401) == (route.access == "read"), path
    assert (served.folder / ".headrace" / "serve" / "token").stat().st_mode & 0o077 == 0


def test_a_view_of_events_has_the_newest_and_its_files_can_be_lost(broker: Any, topic: str, tmp_path: Path) -> None:
    topics.create(broker.connection, topic, partitions=1)
    served = Served(broker, tmp_path, topic, schema="n int")
    try:
        for number in range(50):
            served.producer.produce(topic, json.dumps({"n": number}), partition=0)
        served.producer.flush()
        newest = served.get("/views/balances", reverse="true", limit=3, at_least="50")["rows"]
        assert newest == [{"n": 49}, {"n": 48}, {"n": 47}]
        served.close()
        for file in (tmp_path / ".headrace" / "serve").glob("*/views/data.mdb"):
            os.unlink(file)
        served.start()
        assert len(served.get("/views/balances")["rows"]) == 50
    finally:
        served.close()


def test_a_port_that_is_taken_and_a_view_that_is_served_already_are_refused(served: Served, broker: Any) -> None:
    again = subprocess.run(served.command, cwd=served.folder, capture_output=True, text=True, timeout=SECONDS)
    assert again.returncode == 1
    assert f"error: balances is served already, by process {served.process.pid}" in again.stderr
    port = str(served.http.base_url.port)
    other = [{"0": port, "balances": "others"}.get(word, word) for word in served.command]
    taken = subprocess.run(other, cwd=served.folder, capture_output=True, text=True, timeout=SECONDS)
    assert taken.returncode == 1
    assert f"views can't be served at 127.0.0.1:{port}: Address already in use" in taken.stderr
