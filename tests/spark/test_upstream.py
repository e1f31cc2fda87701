"""Queries that read what others write: compiled in order, each once, with the types of what the earlier ones write."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame

import headrace as hr
from headrace.plan.nodes import Read
from headrace.spark import jvm
from headrace.spark.compile import Compiled, compile, compile_all
from headrace.spark.read import memory
from headrace.testing.driver import spark

SCHEMA = "k string, v int, w decimal(10,2), at timestamp"


class Log:
    """A log whose reads are counted."""

    def __init__(self) -> None:
        self.name = uuid.uuid4().hex
        self.reads: Counter[str] = Counter()

    def read(self, source: Read) -> DataFrame:
        self.reads[source.label] += 1
        return memory.read(spark(), source, self.name)


@pytest.fixture
def log() -> Iterator[Log]:
    log = Log()
    jvm.memory_log_create(spark(), log.name)
    yield log
    jvm.memory_log_drop(spark(), log.name)


def events(app: hr.App) -> hr.Stream:
    return app.stream("in", schema=SCHEMA, time="at", lateness="1 second").key_by("k")


def types(compiled: Compiled) -> str:
    return compiled.row.simpleString()


def chain() -> hr.App:
    app = hr.App("chain")
    minutes = events(app).window(hr.tumbling("1 minute"), emit="final").agg(v="sum(v)", w="max(w)", at="max(at)")
    hours = minutes.key_by("k").window(hr.tumbling("1 hour")).agg(v="sum(v)", w="max(w)", at="max(at)")
    hours.where("v > 1").key_by("k").agg(v="max(v)", w="sum(w)", at="min(at)").select("k", "v", "w", "at").to("most")
    return app


def test_each_query_reads_its_own_sources_and_no_other_is_compiled_for_it(log: Log) -> None:
    specs = chain().queries()
    assert len(specs) > 2
    compile_all(specs, log.read)
    assert log.reads == Counter(source.label for spec in specs for source in spec.sources)


def test_types_go_through_all_topics_between(log: Log) -> None:
    specs = chain().queries()
    compiled = compile_all(specs, log.read)
    assert [query.spec for query in compiled] == list(specs)
    assert types(compiled[-1]) == "struct<k:string,v:bigint,w:decimal(20,2),at:timestamp>"


def test_a_query_that_is_compiled_alone_has_the_same_types(log: Log) -> None:
    specs = chain().queries()
    together = compile_all(specs, log.read)
    assert [types(compile(spec, log.read)) for spec in specs] == [types(query) for query in together]


def test_late_events_may_be_read_before_the_query_of_their_windows_is_declared(log: Log) -> None:
    app = hr.App("late")
    windowed = events(app).window(hr.tumbling("1 minute"), late="divert")
    windowed.late.select("k", "w", "late_by").to("missed")
    windowed.count().to("counts")
    specs = app.queries()
    compiled = compile_all(specs, log.read)
    assert [query.spec.name for query in compiled] == [spec.name for spec in specs]
    by_name = {query.spec.name: query for query in compiled}
    assert types(by_name["missed"]) == "struct<k:string,w:decimal(10,2),late_by:double>"
    assert log.reads["in"] == 1


def test_a_query_may_read_the_late_events_of_its_own_windows(log: Log) -> None:
    app = hr.App("circle")
    windowed = events(app).window(hr.tumbling("1 minute"), emit="final", late="divert")
    counts = windowed.agg(w="max(w)").select("k", "w")
    counts.merge(windowed.late.select("k", "w")).to("both")
    (spec,) = app.queries()
    assert any(map(spec.reads, spec.writes))
    (compiled,) = compile_all([spec], log.read)
    assert types(compiled) == "struct<k:string,w:decimal(10,2)>"
