"""The same application on a Spark cluster: a master, a worker and executors in processes of their own."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from headrace.broker import peek, send
from tests.sinks.servers import Postgres, postgres

HOME = Path(pyspark.__file__).parent
APP = """
import headrace as hr

def shout(text):
    return text.upper() + "!"

@hr.udf("string")
def loud(text: str) -> str:
    return shout(text)

app = hr.App("cluster")
rows = app.stream("IN", schema="k string, v int").with_columns(k="loud(k)")
counts = rows.key_by("k").agg(n="count(*)", total="sum(v)")
counts.to("OUT")
counts.to(hr.sinks.sqlite("counts.db", table="counts"))
rows.with_columns(pad="repeat('x', 20000)").to(hr.sinks.postgres("POSTGRES", table="padded"))
"""


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    logs = tmp_path / "cluster"
    logs.mkdir()
    parts: list[subprocess.Popen[bytes]] = []

    def start(what: str, shows: str, *args: str) -> str:
        log = logs / f"{what}.log"
        command = [
            HOME / "bin" / "spark-class",
            f"org.apache.spark.deploy.{what}",
            "--host",
            "127.0.0.1",
            "--webui-port",
            "0",
            *args,
        ]
        environment = {**os.environ, "SPARK_HOME": str(HOME), "SPARK_WORKER_DIR": str(logs), "PYSPARK_PYTHON": sys.executable}
        with log.open("wb") as out:
            parts.append(subprocess.Popen(command, env=environment, stdout=out, stderr=out, cwd=logs))
        while not (match := re.search(shows, log.read_text())):
            assert parts[-1].poll() is None, log.read_text()
            time.sleep(0.1)
        return match[0]

    try:
        address = start("master.Master", r"spark://127\.0\.0\.1:\d+", "--port", "0")
        start("worker.Worker", "Successfully registered", "--cores", "2", "--memory", "2g", address)
        yield address
    finally:
        for part in reversed(parts):
            part.terminate()
            part.wait(30)


@pytest.fixture
def database() -> Iterator[Postgres]:
    with postgres() as server:
        yield server


def test_an_application_runs_on_a_spark_cluster(
    broker: Any, topic: str, tmp_path: Path, master: str, database: Postgres
) -> None:
    names = {"IN": topic, "OUT": f"{topic}-out", "POSTGRES": database.url}
    (tmp_path / "app.py").write_text(re.sub("IN|OUT|POSTGRES", lambda name: names[name[0]], APP))
    send.send(broker.connection, topic, send.rows([{"k": "ab"[i % 2], "v": i} for i in range(100)], key="k"), create=True)
    command = [sys.executable, "-m", "headrace", "run", "app.py", "--until", "now", "--json"]
    done = subprocess.run(
        [*command, "--broker", broker.address, "--master", master], cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    assert sum(json.loads(line)["rows_in"] for line in done.stdout.splitlines()) == 200
    assert database.rows("SELECT sum(v) AS v, count(*) AS n FROM padded WHERE length(pad) = 20000") == [{"v": 4950, "n": 100}]
    counts = sqlite3.connect(tmp_path / "counts.db").execute("SELECT k, n, total FROM counts ORDER BY k")
    assert counts.fetchall() == [("A!", 50, 2450), ("B!", 50, 2500)]
    newest = peek.table(peek.read(broker.connection, f"{topic}-out"))
    rows = {row["k"]: row["total"] for row in (json.loads(record.value or b"{}") for record in newest.values())}
    assert rows == {"A!": sum(range(0, 100, 2)), "B!": sum(range(1, 100, 2))}
