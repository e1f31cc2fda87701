"""The same application on a Spark cluster: a master, two workers and executors in processes of their own."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.broker import peek, send
from headrace.config import Config
from headrace.errors import ConfigError
from headrace.spark.cluster import Cluster
from tests.runtime import clusters
from tests.runtime.clusters import SECRET
from tests.sinks.servers import Postgres, postgres

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
counts.to("OUT", headers={"k": "k"})
counts.to(hr.sinks.sqlite("counts.db", table="counts"))
rows.with_columns(pad="repeat('x', 20000)").to(hr.sinks.postgres("POSTGRES", table="padded"))
"""
LARGE = """
import headrace as hr

app = hr.App("large")
rows = app.stream("IN", schema="id int, pad string")
rows.to("OUT")
rows.to(hr.sinks.sqlite("rows.db", table="rows"))
"""


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    with clusters.standalone(tmp_path / "cluster") as cluster:
        yield cluster.master


@pytest.fixture
def database() -> Iterator[Postgres]:
    with postgres() as server:
        yield server


def run(folder: Path, broker: Any, *flags: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "headrace", "run", "app.py", "--until", "now", "--json", "--broker", broker.address]
    return subprocess.run(
        [*command, *flags], cwd=folder, env={**os.environ, **environ}, capture_output=True, text=True, timeout=280
    )


def test_an_application_runs_on_a_spark_cluster(
    broker: Any, topic: str, tmp_path: Path, master: str, database: Postgres
) -> None:
    names = {"IN": topic, "OUT": f"{topic}-out", "POSTGRES": database.url}
    (tmp_path / "app.py").write_text(re.sub("IN|OUT|POSTGRES", lambda name: names[name[0]], APP))
    send.send(broker.connection, topic, send.rows([{"k": "ab"[i % 2], "v": i} for i in range(100)], key="k"), create=True)
    done = run(tmp_path, broker, "--master", master, HEADRACE_CLUSTER_SECRET=SECRET)
    assert done.returncode == 0, done.stderr
    assert sum(json.loads(line)["rows_in"] for line in done.stdout.splitlines()) == 200
    assert database.rows("SELECT sum(v) AS v, count(*) AS n FROM padded WHERE length(pad) = 20000") == [{"v": 4950, "n": 100}]
    counts = sqlite3.connect(tmp_path / "counts.db").execute("SELECT k, n, total FROM counts ORDER BY k")
    assert counts.fetchall() == [("A!", 50, 2450), ("B!", 50, 2500)]
    newest = peek.table(peek.read(broker.connection, f"{topic}-out"))
    rows = {row["k"]: row["total"] for row in (json.loads(record.value or b"{}") for record in newest.values())}
    assert {tuple(record.headers) for record in newest.values()} == {(("k", b"A!"),), (("k", b"B!"),)}
    assert rows == {"A!": sum(range(0, 100, 2)), "B!": sum(range(1, 100, 2))}


@pytest.mark.soak
def test_executors_write_a_batch_that_is_larger_than_their_memory(broker: Any, topic: str, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(LARGE.replace("IN", topic).replace("OUT", f"{topic}-out"))
    count = 120_000
    rows = ({"id": i, "pad": f"{i:06}" * 200} for i in range(count))
    send.send(broker.connection, topic, send.rows(rows), create=True)
    # 144 MB in one batch, twice, for two executors with 150 MB each besides what Spark reserves.
    done = run(tmp_path, broker, "--master", "local-cluster[2,1,450]", "--driver-memory", "512m", "--batch-bytes", "1g")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["rows_out"] for line in done.stdout.splitlines() if json.loads(line)["rows_in"]] == [count]
    total = sqlite3.connect(tmp_path / "rows.db").execute("SELECT count(*), sum(id), min(length(pad)) FROM rows").fetchone()
    assert total == (count, sum(range(count)), 1200)
    ids = [json.loads(record.value or b"")["id"] for record in peek.read(broker.connection, f"{topic}-out")]
    assert sorted(ids) == list(range(count))


def test_a_standalone_cluster_needs_its_secret_or_the_word_none(tmp_path: Path) -> None:
    for secret in ("", "none", SECRET):
        config = Config.load({"master": "spark://m:7077"}, cwd=tmp_path, environ={"HEADRACE_CLUSTER_SECRET": secret})
        executors = Cluster.of(config)
        if not secret:
            with pytest.raises(ConfigError) as e:
                executors.check(config.master)
            assert e.value.message == "spark://m:7077 is a standalone cluster, and cluster_secret is not set"
            assert "HEADRACE_CLUSTER_SECRET" in (e.value.fix or "")
        else:
            executors.check(config.master)
    assert executors.settings("spark://m:7077")["spark.authenticate"] == "true"
    assert executors.hidden("spark://m:7077") == {"spark.authenticate.secret": SECRET}
    assert "spark.authenticate" not in Cluster(secret="none").settings("spark://m:7077")
    assert SECRET not in str(config) + str(config.settings()) + str(executors)
    for master in ("yarn", "k8s://https://m"):
        assert Cluster().settings(master)["spark.authenticate"] == "true"
        Cluster().check(master)
