"""Names of topics, queries and applications: checked where they are typed, and no two things share one."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

import headrace as hr
from headrace.errors import PlanError
from headrace.plan.queries import dead_topic

BAD = ("", " ", ".", "..", "../x", "a/b", "a b", "a,b", "ü", "x" * 250, "trades\n")


def stream(app: hr.App, topic: str = "in") -> hr.Stream:
    return app.stream(topic, schema="v int")


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_kafka_refuses_is_refused_at_the_line_that_reads_or_writes_it(name: str) -> None:
    app = hr.App("a")
    copied = stream(app)
    for use in (lambda: stream(app, name), lambda: app.table(name, key="v", schema="v int"), lambda: copied.to(name)):
        with pytest.raises(PlanError) as refused:
            use()
        assert refused.value.message == f"{name!r} is not a valid topic name"
        assert refused.value.where is not None
        assert Path(refused.value.where.file).name == Path(__file__).name
        assert "1 to 249 letters" in (refused.value.fix or "")


@pytest.mark.parametrize("name", ["a", "_a", "a.b-c_d", "...", "x" * 249, "0"])
def test_a_name_that_kafka_takes_is_taken(name: str) -> None:
    app = hr.App("a")
    stream(app, name).to(f"{name[:200]}-out")
    assert app.queries()[0].sources[0].label == name


def test_a_topic_of_headraces_own_is_not_written_by_an_application() -> None:
    app = hr.App("a")
    with pytest.raises(PlanError) as caught:
        stream(app).to("headrace.a.marks")
    assert "one of Headrace's own" in caught.value.message
    # Reading one is fine: dead letters are a stream too.
    stream(app, "headrace.b.dead").to("letters-of-b")


def test_no_two_queries_of_any_applications_share_a_transactional_id() -> None:
    names = ("a", "b", "c", "a.b", "b.c", "a.b.c", "marks", "dead", "dead.replay", "a.marks", "b.dead", "a-b", "a_b")
    ids: dict[str, tuple[str, str]] = {}
    for name in names:
        for query in names:
            app = hr.App(name)
            stream(app).to("out", name=query)
            (spec,) = app.queries()
            assert ids.setdefault(spec.id, (name, query)) == (name, query)
    for one, other in combinations(names, 2):
        assert dead_topic(one) != dead_topic(other)
        assert f"{dead_topic(one)}/replay" not in ids


def test_an_id_without_a_dot_in_the_application_is_the_one_it_always_was() -> None:
    app = hr.App("shop")
    stream(app).to("orders.large")
    assert app.queries()[0].id == "headrace.shop.orders.large"


@pytest.mark.parametrize("base", ["..", "a\\b", "a:b", "a%2Fb", "x" * 300, "a\tb", "Ä b"])
def test_a_query_that_is_named_after_its_sink_has_a_folder_of_its_own(base: str, tmp_path: Path) -> None:
    app = hr.App("a")
    stream(app).to(hr.sinks.files(f"/data/{base}"))
    (spec,) = app.queries()
    place = (tmp_path / spec.name).resolve()
    assert place.parent == tmp_path.resolve()
    place.mkdir()


def test_two_sinks_do_not_share_a_folder() -> None:
    names: set[str] = set()
    bases = ["a\\b", "a:b", "a%3Ab", "a b", "x" * 300, "x" * 301]
    for base in bases:
        app = hr.App("a")
        stream(app).to(hr.sinks.files(f"/data/{base}"))
        names.add(app.queries()[0].name)
    assert len(names) == len(bases)


@pytest.mark.parametrize("name", ["lock", "effects.db", "effects.db-wal", "effects.lock"])
def test_a_query_does_not_take_the_name_of_a_file_beside_it(name: str) -> None:
    copied = stream(hr.App("a"))
    with pytest.raises(PlanError) as caught:
        copied.to(name)
    assert "a query can't be called" in caught.value.message
    with pytest.raises(PlanError) as caught:
        copied.to("out", name=name)
    assert "a query can't be called" in caught.value.message
    copied.to(name, name="other")
