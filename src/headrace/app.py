"""App: a streaming application, declared in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from headrace import extras
from headrace.errors import PlanError
from headrace.plan import build, checks, draw, habits, spelling, tables
from headrace.plan.callsite import CallSite, call_site
from headrace.plan.clocks import Clock
from headrace.plan.durations import Duration
from headrace.plan.format import Format
from headrace.plan.nodes import Bad, Delivery, Node, Read, Write
from headrace.plan.queries import QuerySpec, queries, written
from headrace.plan.sink import Sink
from headrace.plan.source import Source
from headrace.plan.sql.schema import Schema
from headrace.sources.kafka import StartArgument, kafka
from headrace.stream import Stream
from headrace.table import Table

if TYPE_CHECKING:
    from headrace.runtime.events import Listener
    from headrace.runtime.handle import Run
    from headrace.runtime.run import Summary


APP_MODULE = "headrace_app"
"""The name under which `headrace run` imports the user's file."""


@spelling.facade("an app", habits.APP)
class App:
    """A named application: the streams it reads, what it computes from them, and where the results go."""

    def __init__(self, name: str) -> None:
        site = call_site()
        self.name = checks.name(name, "application", site.where)
        self.where = site.where
        self._sources: dict[Read, Read] = {}
        self._writes: list[Write] = []

    def stream(
        self,
        source: str | Source,
        *,
        schema: Schema | None = None,
        time: str | Clock | None = None,
        lateness: Duration | None = None,
        max_ahead: Duration | None = None,
        idle_after: Duration | None = None,
        close_after: Duration | None = None,
        format: str | Format | None = None,
        key_format: str | Format = "text",
        bad: Bad = "dead",
        start: StartArgument | None = None,
    ) -> Stream:
        """Reads a topic, or one of `hr.sources`.

        `time` is the column of the event's time or a clock (the default is the record's timestamp in the log), and `lateness`
        is how far behind the newest event an event may be and still count. An event whose time is more than `max_ahead` in
        the future is a bad record. After `idle_after` without records the stream no longer holds back others in the same
        query; after `close_after` without records from any topic of the query, open windows are closed. `bad` says what happens
        to a bad record: "dead" writes it, with its cause, to the application's dead-letter topic, "skip" counts it, "fail"
        stops the run and names it. `start` is where the first run starts in a topic: see `hr.sources.kafka`.
        """
        site = call_site()
        node = build.source(
            _source(source, start, site),
            site,
            fields=schema,
            time=time,
            lateness=lateness,
            max_ahead=max_ahead,
            idle_after=idle_after,
            close_after=close_after,
            format=format,
            key_format=key_format,
            bad=bad,
        )
        return Stream(self, self._read(node))

    def table(
        self,
        source: str | Source,
        *,
        key: str | Sequence[str],
        schema: Schema | None = None,
        version: str | None = None,
        time: str | Clock | None = None,
        lateness: Duration | None = None,
        format: str | Format | None = None,
        key_format: str | Format = "text",
        bad: Bad = "dead",
    ) -> Table:
        """Reads a topic, or one of `hr.sources`, as a table: the newest row of each key.

        A null value deletes the row of the record's key.

        The newest row is the last one in the log or, with `version`, the one with the highest value in that column; a row with
        a lower version is skipped and counted. The other options are as in `stream`.
        """
        site = call_site()
        node = build.source(
            _source(source, None, site),
            site,
            fields=schema,
            time=time,
            lateness=lateness,
            format=format,
            key_format=key_format,
            bad=bad,
            key=tables.keys(key, site),
            version=version,
        )
        return Table(self, self._read(node))

    def queries(self) -> tuple[QuerySpec, ...]:
        """The queries that a run starts: one for each stream or table that is written."""
        return queries(self.name, self._writes, self.where)

    def describe(self, format: Literal["text", "mermaid", "json"] = "text") -> str:
        """Draws the topology."""
        return draw.draw(draw.model(self.name, self.queries()), format)

    def run(
        self,
        *,
        until: Literal["now"] | None = None,
        mode: Literal["batches", "realtime"] = "batches",
        broker: str | None = None,
        master: str | None = None,
        on_event: Listener | None = None,
    ) -> Summary:
        """Runs until it is stopped (Ctrl-C, SIGTERM), or, with until="now", until what is there now is processed.

        With mode="realtime", results arrive within milliseconds; some verbs and all sinks but topics are not supported there.
        `on_event` is called with each event of the run: see docs/start-and-stop.md.
        """
        from headrace.runtime.run import run

        return run(self, until=until, mode=mode, flags={"broker": broker, "master": master}, on_event=on_event)

    def start(
        self,
        *,
        until: Literal["now"] | None = None,
        mode: Literal["batches", "realtime"] = "batches",
        broker: str | None = None,
        master: str | None = None,
        on_event: Listener | None = None,
        quiet: bool = False,
    ) -> Run:
        """Starts a run and returns at once, for programs, tests and notebooks: `with app.start() as run:`.

        Mistakes in the program and its settings are raised here, later errors by `run.wait()`. Notes, progress and errors go
        to stderr, unless `quiet` is true.
        """
        from headrace.runtime.display import Silent
        from headrace.runtime.run import launch

        flags = {"broker": broker, "master": master}
        return launch(self, until=until, mode=mode, flags=flags, display=Silent() if quiet else None, on_event=on_event)

    def _read(self, node: Read) -> Read:
        """The same topic can be declared again with other options; with the same options it is the same stream."""
        return self._sources.setdefault(node, node)

    def _write(
        self,
        node: Node,
        to: str | Sink,
        name: str | None,
        delivery: Delivery,
        format: str | Format | None,
        key_format: str | Format | None,
        headers: Mapping[str, str] | None,
        site: CallSite,
    ) -> None:
        write = written(node, to, name, delivery, format, key_format, headers, site)
        for other in self._writes:
            if other.label == write.label:
                what = f"the topic {to!r}" if isinstance(to, str) else write.label
                raise PlanError(
                    f"{what} is already written at {other.where.file}:{other.where.line}",
                    where=site.where,
                    fix="merge() the two streams, or write somewhere else",
                )
        self._writes.append(write)

    def _preview(self, node: Node, records: int, broker: str | None, site: CallSite) -> Any:
        if not isinstance(records, int) or records < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise PlanError(
                f"records={records!r} must be a whole number greater than zero", where=site.where, fix="write records=1000"
            )
        extras.require("pandas", "DataFrames", where=site.where)
        from headrace.runtime.look.preview import preview

        return preview(self.name, node, site.where, records, {"broker": broker})

    def _repr_html_(self) -> str:
        return draw.html(draw.model(self.name, self.queries()))

    def __repr__(self) -> str:
        return f"<App {self.name}: {len(self._writes)} written>"


def _source(source: str | Source, start: StartArgument | None, site: CallSite) -> Source:
    """A plain name is a topic's."""
    if isinstance(source, str):
        return kafka(source, start="earliest" if start is None else start)
    if not isinstance(source, Source):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(
            f"the source must be a topic's name or one of hr.sources, not {type(source).__name__}",
            where=site.where,
            fix='write app.stream("trades", …)',
        )
    if start is not None:
        raise PlanError("start= is an option of the source", where=site.where, fix="write hr.sources.kafka(…, start=…)")
    return source
