"""hr.read: what a topic contains now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from headrace import extras
from headrace.errors import PlanError
from headrace.plan import checks, spelling, tables
from headrace.plan.callsite import call_site
from headrace.plan.format import Format
from headrace.plan.sql.schema import Schema
from headrace.sources.kafka import Kafka, StartArgument, kafka

if TYPE_CHECKING:
    from headrace.app import App

As = Literal["pandas", "arrow"]


@spelling.arguments
def read(
    topic: str | Kafka,
    *,
    app: App | None = None,
    schema: Schema | None = None,
    format: str | Format | None = None,
    key_format: str | Format | None = None,
    as_table: bool | None = None,
    key: str | Sequence[str] | None = None,
    version: str | None = None,
    columns: Sequence[str] | None = None,
    start: StartArgument | None = None,
    until: StartArgument | None = None,
    limit: int | None = None,
    bad: Literal["skip", "fail"] | None = None,
    as_: As = "pandas",
    broker: str | None = None,
) -> Any:
    """Returns a topic's committed records as a pandas DataFrame or, with as_="arrow", as a pyarrow Table.

    The columns are those of `schema` or, with `app`, those that the application writes to or reads from the topic.
    `as_table` returns the newest row of each key, without deleted ones: the key is the record's or the columns `key`, and
    `version` says which row is newer. `columns` selects columns; `_key`, `_topic`, `_partition`, `_offset` and `_timestamp`
    can be selected too. `start` and `until` are times or offsets, as in `hr.sources.kafka`; `limit` returns only the newest
    rows. Records that can't be decoded are left out, with a warning that counts them; with bad="fail" they are an error.
    """
    site = call_site()
    where = site.where
    checks.one_of("as_", as_, ("pandas", "arrow"), where)
    if bad is not None:
        checks.one_of("bad", bad, ("skip", "fail"), where)
    if limit is not None and (not isinstance(limit, int) or limit < 1):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(
            f"limit={limit!r} must be a whole number greater than zero", where=where, fix="write limit=100, or leave it out"
        )
    if isinstance(topic, str):
        source = kafka(topic)
    elif isinstance(topic, Kafka):  # pyright: ignore[reportUnnecessaryIsInstance]
        source = topic
    else:
        raise PlanError(
            f"read() takes a topic's name or hr.sources.kafka(…), not {type(topic).__name__}",
            where=where,
            fix='write hr.read("trades", schema="…"); stream.preview() shows the rows of a stream',
        )
    if app is None and schema is None and format is None:
        raise PlanError(
            f"the columns of {source.title} are unknown",
            where=where,
            fix='add schema="…", app=app for a topic that the application writes or reads, or format="text"',
        )
    if as_table is False and key is not None:
        raise PlanError("key= and as_table=False contradict each other", where=where, fix="leave one of them out")
    named = source.topics if len(source.topics) != 1 else source.topics[0]
    if start is not None:
        source = replace(source, start=kafka(named or None, pattern=source.pattern, start=start).start)
    if source.start == "latest":
        raise PlanError('start="latest" leaves nothing to read', where=where, fix="leave start= out, or write limit=100")
    if until == "earliest":
        raise PlanError('until="earliest" leaves nothing to read', where=where, fix="leave until= out")
    end = None if until is None else replace(source, start=kafka(named or None, pattern=source.pattern, start=until).start)

    extras.require("pandas", "DataFrames and Arrow tables", where=where)
    from headrace.runtime.look import results
    from headrace.spark import frames

    wanted = results.Wanted(
        source=source,
        site=site,
        app=app,
        schema=schema,
        format=format,
        key_format=key_format,
        as_table=as_table,
        key=() if key is None else tables.keys(key, site),
        version=version,
        columns=columns,
        until=end,
        limit=limit,
        bad=bad,
    )
    found = results.read(wanted, {"broker": broker})
    return found if as_ == "arrow" else frames.to_pandas(found)
