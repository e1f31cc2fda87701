"""Your own source: what is refused as it is declared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import headrace as hr
from headrace.errors import PlanError
from headrace.sources.custom import Custom


class Nothing(hr.sources.Reader):
    def read(self, after: Any) -> Iterator[hr.sources.Record | None]:
        yield None


def two(one: Custom, other: Custom) -> hr.App:
    app = hr.App("own")
    app.stream(one, schema="v int").to("a")
    app.stream(other, schema="v int").to("b")
    return app


def test_one_source_may_be_read_twice() -> None:
    source = hr.sources.custom(Nothing(), topic="t")
    (query,) = two(source, source).queries()
    assert query.writes == ("a", "b")


def test_two_readers_do_not_fill_one_topic() -> None:
    app = two(hr.sources.custom(Nothing(), topic="t"), hr.sources.custom(Nothing(), topic="t", name="u"))
    with pytest.raises(PlanError, match="two sources fill the topic 't'"):
        app.queries()


def test_two_sources_do_not_store_their_positions_under_one_name() -> None:
    app = two(hr.sources.custom(Nothing(), topic="t"), hr.sources.custom(Nothing(), topic="u", name="t"))
    with pytest.raises(PlanError, match="two sources are called 't'"):
        app.queries()


def test_of_two_readers_under_one_name_none_is_left_out() -> None:
    app = two(hr.sources.custom(Nothing(), topic="t"), hr.sources.custom(Nothing(), topic="t"))
    with pytest.raises(PlanError, match="two sources are called 't'"):
        app.queries()


def test_what_a_source_fills_is_written_by_nothing_else() -> None:
    app = hr.App("own")
    app.stream(hr.sources.custom(Nothing(), topic="t"), schema="v int").to("a")
    app.stream("other", schema="v int").to("t")
    with pytest.raises(PlanError, match="the topic 't' is filled by the source 't'"):
        app.queries()


def test_a_class_is_not_a_reader() -> None:
    with pytest.raises(PlanError, match="Nothing is a class, not a reader"):
        hr.sources.custom(Nothing, topic="t")  # type: ignore[arg-type]
