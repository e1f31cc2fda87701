"""What a program means, in plain Python over the list of events, told where batches end: lateness is judged by batch.

Nothing of it is derived from the product's code: it follows the pages of the documentation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from fuzz import clock, tables, windowing
from fuzz.clock import Clock
from fuzz.expressions import Row
from fuzz.histories import FAR, Cuts, History, moment
from fuzz.programs import Node
from fuzz.tables import Key, Table, Undecided, Version
from fuzz.windowing import Event

Stream = list[Event]


class Interpreter:
    def __init__(self, history: History, cuts: Cuts) -> None:
        self._history = history
        self._cuts = cuts

    def rows(self, node: Node) -> list[Row] | None:
        """What is written in the end: the rows of a stream, or those that a table is left with. None if that is undecided."""
        try:
            result = self._result(node)
        except Undecided:
            return None
        return [event.row for event in result] if isinstance(result, list) else list(result.rows().values())

    def late(self, node: Node) -> int | None:
        """How many times an event missed a window, if the query is one that drops nothing else."""
        below = list(_below(node))
        if node.verb != "window" or any(one.verb in ("window", "join", "dedupe", "lookup") for one in below[1:]):
            return None
        query = Query(node, self._history, self._cuts)
        return sum(1 for _ in windowing.missed(node["window"], query.result(node.input), query.clock))

    def _result(self, end: Node) -> Stream | Table:
        query = Query(end, self._history, self._cuts)
        query.behind = {id(node): self._result(node) for node in query.cut}
        query.clock.ends = [self._reached(node, query.behind[id(node)]) for node in query.cut] or query.clock.ends
        return query.result(end)

    def _reached(self, node: Node, rows: Stream | Table) -> int:
        """The watermark that a topic between two queries has in the end."""
        sources = [one for one in _below(node) if not one.inputs and one.options.get("lateness") is not None]
        advanced = [barrier.to for barrier in self._history.barriers if barrier.to is not None]
        times = [event.time for event in rows] if isinstance(rows, list) else []
        newest = max([*times, *advanced], default=0)
        return newest // 1000 * 1000 - max((one["lateness"] for one in sources), default=0)


class Query:
    """What runs together: the verbs down to its topics, or to a topic that another query writes."""

    def __init__(self, end: Node, history: History, cuts: Cuts) -> None:
        self.behind: dict[int, Stream | Table] = {}
        self.cut: list[Node] = []
        self._done: dict[int, Stream | Table] = {}
        self._history = history
        nodes = list(self._nodes(end, set()))
        sources = [node for node in nodes if not node.inputs]
        self._watermarked = any(_watermark(node) for node in nodes)
        lateness = {node["topic"]: node["lateness"] for node in sources if node.options.get("lateness") is not None}
        closing = [node["close_after"] for node in sources if node.options.get("close_after") is not None]
        # A window's own silence counts in place of that of its streams.
        closing = [node["close_after"] for node in nodes if node.inputs and node.options.get("close_after")] or closing
        topics = [node["topic"] for node in sources]
        lateness = lateness if self._watermarked else {}
        self.clock: Clock = clock.clock(history, cuts, topics, lateness, max(closing, default=None))
        # What comes out of another query's topic is in time: that query has judged it, and writes it in the order of time.
        self._gated = not self.cut
        if self.cut:
            self.clock.late = [0]

    def _nodes(self, node: Node, seen: set[int]) -> Iterator[Node]:
        if id(node) in seen:
            return
        seen.add(id(node))
        yield node
        for source in node.inputs:
            if _cut(node, source):
                self.cut.append(source)
            else:
                yield from self._nodes(source, seen)

    def result(self, node: Node) -> Any:
        if id(node) in self.behind:
            found = self.behind[id(node)]
            return [Event(event.row, event.time, 0, event.order) for event in found] if isinstance(found, list) else found
        if id(node) not in self._done:
            self._done[id(node)] = self._make(node, [self.result(source) for source in node.inputs])
        return self._done[id(node)]

    def _make(self, node: Node, inputs: Sequence[Any]) -> Stream | Table:
        table = isinstance(inputs[0], Table) if inputs else False
        match node.verb:
            case "stream":
                return [
                    Event(record.row, record.time, self.clock.batch_of[place], (place,))
                    for place, record in enumerate(self._history.records)
                    if record.topic == node["topic"] and record.row is not None
                ]
            case "table":
                return self._topic_table(node)
            case "where":
                condition = node["condition"]
                if table:
                    return tables.mapped(inputs[0], lambda row: row if condition.value(row) is True else None)
                return [event for event in inputs[0] if condition.value(event.row) is True]
            case "split":
                return [event for event in inputs[0] if (node["condition"].value(event.row) is True) == (node["part"] == 0)]
            case "drop":
                return [_with(event, {name: event.row[name] for name in node.columns}) for event in inputs[0]]
            case "select" | "with_columns":

                def projected(row: Row) -> Row:
                    kept = row if node.verb == "with_columns" else {name: row[name] for name in node["kept"]}
                    return {**kept, **{name: item.value(row) for name, item in node["named"].items()}}

                if table:
                    return tables.mapped(inputs[0], projected)
                return [_with(event, projected(event.row)) for event in inputs[0]]
            case "key_by":
                return inputs[0]
            case "explode":
                return [
                    Event({**event.row, node["name"]: tag}, event.time, event.batch, (*event.order, i))
                    for event in inputs[0]
                    for i, tag in enumerate(event.row["tags"] or ())
                ]
            case "merge":
                return sorted((event for one in inputs for event in one), key=lambda event: event.order)
            case "dedupe":
                return list(self._deduped(node, inputs[0]))
            case "window":
                return self._windows(node, inputs[0])
            case "late":
                late = windowing.missed(node["window"], inputs[0], self.clock)
                return [_with(one.event, {**one.event.row, **_bounds(one.start, one.end), "late_by": one.by}) for one in late]
            case "agg":
                return self._running(node, inputs[0])
            case "as_table":
                return self._as_table(node, inputs[0])
            case "group":
                made = node["aggregates"]
                return tables.grouped(
                    inputs[0], node.key, lambda rows: {name: aggregate.value(rows) for name, aggregate in made.items()}
                )
            case "table_join":
                theirs = [name for name in node.inputs[1].columns if name not in node["on"].values()]
                return tables.joined(
                    inputs[0], inputs[1], node["on"], node["how"], node.key, (list(node.input.columns), theirs)
                )
            case "changes":
                return [Event(_change(node, change), change.time, change.batch, change.order) for change in _real(inputs[0])]
            case "join":
                return list(self._joined(node, inputs[0], inputs[1]))
            case "lookup":
                return list(self._looked_up(node, inputs[0], inputs[1]))
            case _:
                raise AssertionError(node.verb)

    def _topic_table(self, node: Node) -> Table:
        version = node.options.get("version")
        upserts = [
            Version(
                (place,),
                self.clock.batch_of[place],
                record.time,
                place if version is None or record.row is None else record.row[version],
                (record.key,),
                record.row,
            )
            for place, record in enumerate(self._history.records)
            if record.topic == node["topic"]
        ]
        return tables.newest(upserts, versioned=version is not None)

    def _as_table(self, node: Node, events: Stream) -> Table:
        version = node["version"]
        upserts = [
            Version(event.order, event.batch, event.time, event.time if version is None else event.row[version], key, event.row)
            for event in events
            if None not in (key := tuple(event.row[name] for name in node.key))
            and (version is None or event.row[version] is not None)
        ]
        return tables.newest(upserts, versioned=True)

    def _running(self, node: Node, events: Stream) -> Table:
        """A table of one row for each key; without a key, one row from the first batch on, whatever is in it."""
        groups: dict[Key, list[Row]] = {} if node.key else {(): []}
        for event in events:
            groups.setdefault(tuple(event.row[name] for name in node.key), []).append(event.row)
        rows = {key: {**dict(zip(node.key, key, strict=True)), **_aggregated(node, found)} for key, found in groups.items()}
        return _table(rows)

    def _windows(self, node: Node, events: Stream) -> Stream | Table:
        window, emit, key = node["window"], node["emit"], node.key[:-1]
        by_key: dict[Key, list[Event]] = {}
        for event in events:
            by_key.setdefault(tuple(event.row[name] for name in key), []).append(event)
        joins = [below for below in _below(node) if below.verb == "join"]
        # Behind a join a window waits for what the join may still give: `within` longer, and Spark's millisecond.
        ends = [end - sum(join["within"] + 1_000 for join in joins) for end in self.clock.ends]
        gated = self._gated and not joins
        found = windowing.results(window, emit, by_key, replace(self.clock, ends=ends), gated)
        made: list[tuple[windowing.Result, Row]] = []
        for result in found:
            values = _aggregated(node, [event.row for event in sorted(result.events, key=lambda event: event.order)])
            named = dict(zip(key, result.key, strict=True))
            final = result.final and emit != "updates"
            made.append((result, {**named, **_bounds(result.start, result.end), **values, "final": final}))
        if node.kind == "table":
            if window.kind == "sliding":
                # Those behind the newest event of their key, at which events only leave, come when they are final.
                newest = {key: max(event.time for event in events) for key, events in by_key.items()}
                made = [(result, row) for result, row in made if result.final or result.end <= newest[result.key]]
            return _table({(*result.key, result.start): row for result, row in made})
        emitted = made if isinstance(emit, int) else [(result, row) for result, row in made if result.final]
        return [Event(row, result.at, result.batch, (i,)) for i, (result, row) in enumerate(emitted)]

    def _deduped(self, node: Node, events: Stream) -> Iterator[Event]:
        """With a watermark in its query it drops what is later than the lateness. `within` forgets at the end of a batch."""
        remembered: dict[Key, int] = {}
        seen: dict[Key, int] = {}
        batch = -1
        for event in sorted(events, key=lambda event: (event.batch, event.order)):
            while batch < event.batch:
                if node["within"] is not None and batch >= 0:
                    remembered = {key: end for key, end in remembered.items() if end > self.clock.ends[batch]}
                batch += 1
            if self._watermarked and event.time <= self.clock.late[event.batch]:
                continue
            key = tuple(event.row[name] for name in node["by"])
            if node["within"] is not None and event.time - seen.get(key, event.time) >= FAR:
                # Silence closes windows and does not wait until duplicates are forgotten: how far it moves time is left open.
                raise Undecided
            seen[key] = event.time
            if key not in remembered:
                remembered[key] = event.time + (node["within"] or 0)
                yield event

    def _joined(self, node: Node, lefts: Stream, rights: Stream) -> Iterator[Event]:
        on, within, how = node["on"], node["within"], node["how"]
        lefts, rights = ([e for e in side if e.time > self.clock.late[e.batch]] for side in (lefts, rights))
        mine = [name for name in node.inputs[0].columns if name not in on]
        theirs = [name for name in node.inputs[1].columns if name not in on]
        met: set[int] = set()

        def row(left: Event | None, right: Event | None) -> Row:
            keys = {name: (left or right).row[name] for name in on}  # type: ignore[union-attr]
            own = {name: left.row[name] if left else None for name in mine}
            return {**keys, **own, **{name: right.row[name] if right else None for name in theirs}}

        for left in lefts:
            for right in rights:
                if abs(left.time - right.time) <= within and all(
                    left.row[name] is not None and left.row[name] == right.row[name] for name in on
                ):
                    met |= {id(left), id(right)}
                    time, batch = max(left.time, right.time), max(left.batch, right.batch)
                    yield Event(row(left, right), time, batch, (*left.order, *right.order))
        for side, kinds, left in ((lefts, ("left", "full"), True), (rights, ("right", "full"), False)):
            for event in side if how in kinds else ():
                # With a null it meets nobody, and need not wait.
                alone = any(event.row[name] is None for name in on)
                batch = event.batch if alone else self.clock.ended(event.time + within + 1, event.batch)
                if id(event) not in met and batch is not None:
                    yield Event(row(event, None) if left else row(None, event), event.time, batch, event.order)

    def _looked_up(self, node: Node, events: Stream, table: Table) -> Iterator[Event]:
        on = node["on"]
        table_key = node.inputs[1].key
        names = [next(mine for mine, theirs in on.items() if theirs == name) for name in table_key]
        rest = [name for name in node.inputs[1].columns if name not in on.values()]
        for event in events:
            key = tuple(event.row[name] for name in names)
            batch: int | None = event.batch
            found: Row | None = None
            if node["as_of"] == "arrival":
                for change in table.changes if None not in key else ():
                    if change.key == key and change.order <= event.order:
                        found = change.after
            else:
                # Passed, not reached: a change of the same time may still come.
                batch = self.clock.ended(event.time + 1, event.batch)
                if batch is None:
                    continue
                found = self._as_of(node.inputs[1], event.time, batch).get(key) if None not in key else None
            if found is not None or node["how"] == "left":
                row = {**event.row, **{name: None if found is None else found[name] for name in rest}}
                if node.options.get("with_version"):
                    row["version"] = None if found is None else found["rev"]
                yield Event(row, event.time, batch, event.order)

    def _as_of(self, node: Node, time: int, batch: int) -> dict[Key, Row]:
        """A table as it was then: of each key the row with the latest time, and what follows computed from those."""
        if node.verb in ("table", "as_table"):
            newest: dict[Key, Version] = {}
            for version in self.result(node).versions:
                if version.time <= time and version.batch <= batch:
                    known = newest.get(version.key, version)
                    newest[version.key] = max(known, version, key=lambda v: (v.time, v.version, v.order))
            return {key: version.row for key, version in newest.items() if version.row is not None}
        inputs = [self._as_of(source, time, batch) for source in node.inputs]
        table = self._make(node, [_table(rows) for rows in inputs])
        assert isinstance(table, Table)
        return table.rows()


def _watermark(node: Node) -> bool:
    """Whether a query with this verb has a watermark."""
    match node.verb:
        case "dedupe":
            return node["within"] is not None
        case "lookup":
            return node["as_of"] == "event_time"
        case verb:
            return verb in ("window", "join", "late")


def _cut(node: Node, source: Node) -> bool:
    """Whether there is a topic between the two, as `docs/streams-and-tables.md` says."""
    if source.verb == "late":
        return True
    if node.verb == "agg" or (node.verb == "window" and node["emit"] == "updates"):
        return any(below.verb in ("window", "join") for below in _below(source))
    if source.kind == "table" and node.verb not in ("select", "with_columns"):
        while source.verb in ("select", "with_columns"):
            source = source.input
        return source.verb in ("agg", "window")
    return False


def _below(node: Node) -> Iterator[Node]:
    yield node
    for source in node.inputs:
        yield from _below(source)


def _with(event: Event, row: Row) -> Event:
    return Event(row, event.time, event.batch, event.order)


def _bounds(start: int, end: int) -> Row:
    return {"window_start": moment(start), "window_end": moment(end)}


def _aggregated(node: Node, rows: Sequence[Row]) -> Row:
    return {name: aggregate.value(rows) for name, aggregate in node["aggregates"].items()}


def _table(rows: dict[Key, Row]) -> Table:
    return Table([tables.Change((i,), 0, 0, key, None, row) for i, (key, row) in enumerate(rows.items())])


def _real(table: Table) -> list[tables.Change]:
    """A row that comes again as it was is no change."""
    return [change for change in table.changes if change.before != change.after]


def _change(node: Node, change: tables.Change) -> Row:
    op = "insert" if change.before is None else "delete" if change.after is None else "update"
    row = change.after if change.after is not None else change.before
    assert row is not None
    return {**{name: row[name] for name in node.key}, "op": op, "before": change.before, "after": change.after}
