"""Random programs over random sources. Everything that is left out is left out here, with its reason."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from fuzz import aggregates, expressions
from fuzz.programs import COLORS, SECOND, STREAM, THINGS, Node, Program, Window

HOUR = 3_600 * SECOND
_PLAIN = ("stream", "where", "select", "with_columns", "split", "drop")
ZONES = ("UTC", "Europe/Berlin", "America/New_York")


def sources(chance: random.Random, unit: int) -> list[Node]:
    """Two streams with the same columns and two tables; what they have in common is decided once for a group of programs."""
    lateness = chance.choice([2, 5, 10]) * unit
    closing = {"close_after": chance.choice([1, 3]) * unit} if chance.random() < 0.3 else {}
    # In the testing kit no topic is left behind, and a bounded run waits for none: nothing may change.
    closing |= {"idle_after": chance.choice([1, 4]) * unit} if chance.random() < 0.2 else {}
    streams = [
        Node(
            "stream",
            (),
            STREAM,
            unique=frozenset(["n"]),
            options={"topic": topic, "time": "at", "lateness": lateness * factor, **closing},
        )
        for topic, factor in (("events", 1), ("others", chance.choice([1, 2])))
    ]
    timed = {"time": "since", "lateness": lateness}
    version = {"version": "rev"} if chance.random() < 0.4 else {}
    things = Node(
        "table",
        (),
        THINGS,
        ("id",),
        "table",
        frozenset(["m"]),
        {"topic": "things", "key": "id", **timed, **version},
    )
    colors = Node("table", (), COLORS, ("name",), "table", frozenset(["c"]), {"topic": "colors", "key": "name"})
    return [*streams, things, colors]


def again(chance: random.Random, events: Node, unit: int) -> Node:
    """The topic of the events, declared once more: with a lateness of its own, and closed by its own silence or by none."""
    closing = {"close_after": 2 * unit} if chance.random() < 0.3 else {}
    lateness = events["lateness"] * chance.choice([1, 2, 3])
    return _replaced(events, options={"topic": events["topic"], "name": "again", "time": "at", "lateness": lateness, **closing})


def program(chance: random.Random, sources: Sequence[Node], unit: int, topic: str) -> Program:
    return Maker(chance, sources, unit, topic).program()


class Maker:
    def __init__(self, chance: random.Random, sources: Sequence[Node], unit: int, topic: str) -> None:
        self.chance = chance
        self.events, self.others, self.things, self.colors = sources
        self.unit = unit
        self.topic = topic
        self.fresh = 0

    def program(self) -> Program:
        chance = self.chance
        match chance.choices(
            ["stream", "window", "every", "running", "join", "lookup", "table", "chain"], weights=[1, 6, 1, 1, 3, 3, 5, 3]
        )[0]:
            case "stream":
                return self.written(self.stateless(self.stream(), 1, 4))
            case "window":
                return self.windowed(self.keyed(self.stateless(self.stream(), 0, 2)))
            case "every":
                return self.written(self.window(self.keyed(self.stream()), emit=chance.choice([2, 3, 5]) * self.unit))
            case "running":
                return self.written(self.table_verbs(self.running(self.stateless(self.stream(), 0, 2)), 0, 2))
            case "join":
                return self.written(self.behind_join(self.join()))
            case "lookup":
                return self.written(self.behind_lookup(self.lookup()))
            case "table":
                return self.written(self.table_verbs(self.table(), 1, 3, changes=True))
            case _:
                return self.written(self.chain())

    def written(self, node: Node) -> Program:
        return Program(((self.topic, node),))

    def pick(self, *choices: Any) -> Any:
        return self.chance.choice(choices)

    def name(self, prefix: str) -> str:
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    # Streams.

    def stream(self) -> Node:
        return self.pick(self.events, self.events, self.others)

    def stateless(self, node: Node, least: int, most: int) -> Node:
        for _ in range(self.chance.randint(least, most)):
            node = self.one_stateless(node)
        return node

    def one_stateless(self, node: Node) -> Node:
        verbs = ["where", "where", "with_columns", "select", "split", "drop"]
        plain = set(STREAM) <= set(node.columns)
        if plain and all(below.verb in ("stream", "where") for below in _below(node)):
            verbs += ["merge"]
        if expressions.of_type(node.columns, "array<string>") and "tags" in node.columns:
            verbs += ["explode"]
        if plain and all(below.verb in _PLAIN for below in _below(node)):
            # Behind others it is not said which of two events is the first: of several topics, of a join, of an exploded array.
            verbs += ["dedupe", "dedupe"]
        match self.chance.choice(verbs):
            case "where":
                return _next(node, "where", condition=expressions.condition(self.chance, node.columns))
            case "with_columns":
                return self.with_columns(node)
            case "split":
                return _next(node, "split", condition=expressions.condition(self.chance, node.columns), part=self.pick(0, 1))
            case "drop":
                names = [name for name in node.columns if name not in (*node.key, "n", "k", "g", "v", "tags")]
                dropped = self.chance.choice(names) if len(names) > 1 else None
                columns = {name: kind for name, kind in node.columns.items() if name != dropped}
                return _next(node, "drop", columns=columns, dropped=dropped) if dropped else self.with_columns(node)
            case "select":
                dropped = self.chance.choice(
                    [name for name in node.columns if name not in (*node.key, "n", "k", "g")] or [None]
                )
                kept = [name for name in node.columns if name != dropped]
                named = {self.name("x"): self.expression(node)}
                columns = {**{name: node.columns[name] for name in kept}, **{name: e.type for name, e in named.items()}}
                return _next(node, "select", columns=columns, kept=kept, named=named)
            case "merge":
                other = self.others if all(below is not self.others for below in _below(node)) else self.events
                merged = Node("merge", (node, other), node.columns, (), "stream", frozenset(), {})
                # Numbers are unique over all topics, so they still are; but a stream merged with itself has each twice.
                return merged if other in _below(node) else _replaced(merged, unique=frozenset(["n"]))
            case "explode":
                name = self.name("tag")
                return _next(node, "explode", columns={**node.columns, name: "string"}, unique=frozenset(), name=name)
            case _:
                by = self.pick(("k", "v"), ("n",), ("k", "at"), ("g",))
                within = self.pick(None, 5 * self.unit, 20 * self.unit)
                return _next(node, "dedupe", by=by, within=within)

    def with_columns(self, node: Node) -> Node:
        named = {self.name("x"): self.expression(node)}
        columns = {**node.columns, **{name: e.type for name, e in named.items()}}
        return _next(node, "with_columns", columns=columns, named=named)

    def expression(self, node: Node) -> expressions.Expression:
        return self.chance.choice([expressions.number, expressions.text])(self.chance, node.columns)

    def keyed(self, node: Node, always: bool = False) -> Node:
        texts = expressions.of_type(node.columns, "string")
        wanted = [name for name in ("k", "g") if name in texts] or texts
        if not wanted or (not always and self.chance.random() < 0.1):
            return node
        key = tuple(self.chance.sample(wanted, self.chance.randint(1, min(2, len(wanted)))))
        return _next(node, "key_by", key=key)

    # Windows.

    def any_window(self) -> Window:
        unit, chance = self.unit, self.chance
        size = chance.choice([3, 4, 10]) * unit
        offset = chance.choice([0, 0, unit, unit // 2])
        match chance.choice(["tumbling", "tumbling", "hopping", "session", "session", "sliding", "calendar", "cumulating"]):
            case "tumbling":
                return Window("tumbling", chance.choice([size, unit // 2, unit]), offset=offset)
            case "hopping":
                every = chance.choice([2, 3, 7]) * unit
                return Window("hopping", size, every, offset)
            case "session":
                return Window("session", chance.choice([unit // 2, unit, 2 * unit, 3 * unit + unit // 4]))
            case "sliding":
                return Window("sliding", chance.choice([unit // 2, 2 * unit, 5 * unit]))
            case "calendar":
                offset = chance.choice([0, 6 * HOUR])
                return Window(
                    "calendar", unit=chance.choice(["day", "week", "month"]), zone=chance.choice(ZONES), offset=offset
                )
            case _:
                if chance.random() < 0.3 and unit == HOUR:
                    return Window("cumulating", every=6 * HOUR, unit="day", zone=chance.choice(ZONES))
                return Window("cumulating", size, chance.choice([2, 3]) * unit, offset)

    def window(self, node: Node, *, emit: Any = None, late: str = "drop", close_after: int | None = None) -> Node:
        window = self.any_window()
        # A session is one of a key.
        while window.kind == "session" and not node.key:
            window = self.any_window()
        if isinstance(emit, int):
            # A sliding window has a result whenever an event comes or leaves, a cumulating one at its steps.
            while window.kind in ("sliding", "cumulating") or (window.kind == "session" and not node.key):
                window = self.any_window()
            if window.kind == "calendar":
                # A day has 86,400 seconds: not every second of a day, but of a few hours.
                emit = emit * (1 if self.unit == HOUR else 3_600)
        elif emit is None:
            emit = "final" if window.kind == "cumulating" else self.pick("updates", "final", "all")
        while emit == "updates" and (window.kind == "cumulating" or (window.kind == "session" and not node.key)):
            # A cumulating window has its results at its steps.
            window = self.any_window()
        return self.aggregated(node, window, emit, late, close_after)

    def aggregated(self, node: Node, window: Window, emit: Any, late: str, close_after: int | None) -> Node:
        over = "sliding" if window.kind == "sliding" else "stream"
        found = aggregates.some(self.chance, node.columns, node.unique, over)
        bounds = {"window_start": "timestamp", "window_end": "timestamp"}
        columns = {name: node.columns[name] for name in node.key} | bounds | {name: a.type for name, a in found.items()}
        options = {"window": window, "emit": emit, "late": late, "aggregates": found, "windowed": object()}
        if close_after is not None:
            options["close_after"] = close_after
        closes = emit == "final" or isinstance(emit, int)
        return Node(
            "window",
            (node,),
            {**columns, "final": "boolean"},
            (*node.key, "window_start"),
            "stream" if closes else "table",
            frozenset(),
            options,
        )

    def windowed(self, node: Node) -> Program:
        chance = self.chance
        if chance.random() < 0.3:
            made = self.window(node, late="divert")
            columns = {**node.columns, "window_start": "timestamp", "window_end": "timestamp", "late_by": "double"}
            late = Node("late", (node,), columns, (), "stream", frozenset(), made.options)
            behind = self.stateless(late, 0, 1) if chance.random() < 0.3 else late
            return Program(((self.topic, made), (f"{self.topic}-late", behind)))
        # Where other windows follow, a silence of its own needs a topic between them: that is left out.
        made = self.window(node, close_after=self.pick(None, None, None, self.unit, 3 * self.unit))
        if made.kind == "table":
            return self.written(self.table_verbs(made, 0, 2) if chance.random() < 0.3 else made)
        return self.written(self.stateless(made, 0, 1))

    def chain(self) -> Node:
        """Aggregates of aggregates."""
        first = self.window(self.keyed(self.stateless(self.stream(), 0, 1), always=True), emit="final")
        node = self.stateless(first, 0, 1)
        match self.pick("window", "window", "running", "updates", "table"):
            case "window":
                # The key of what a window gives holds its start: another key comes first.
                return self.window(self.keyed(node, always=True), emit="final")
            case "running":
                return self.running(node, always=True)
            case "updates":
                made = self.window(self.keyed(node, always=True), emit="updates")
                while made["window"].kind == "sliding" and self.events.options.get("close_after"):
                    # When silence closes the second window depends on when rows came through the topic between the two.
                    made = self.window(self.keyed(node, always=True), emit="updates")
                return made
            case _:
                # By the whole key: two windows that end together are equally new.
                return self.table_verbs(self.as_table(node, first.key[:-1]), 0, 2)

    # Tables.

    def running(self, node: Node, always: bool = False) -> Node:
        node = self.keyed(node, always)
        found = aggregates.some(self.chance, node.columns, node.unique, "stream")
        columns = {name: node.columns[name] for name in node.key} | {name: a.type for name, a in found.items()}
        return Node("agg", (node,), columns, node.key, "table", frozenset(), {"aggregates": found})

    def as_table(self, node: Node, key: tuple[str, ...] = ()) -> Node:
        if any(below.verb == "explode" for below in _below(node)):
            # Of the elements of one event none is newer than the others.
            node = self.events
        if not key:
            texts = [name for name in ("k", "g") if name in node.columns]
            key = tuple(self.chance.sample(texts, self.chance.randint(1, len(texts))))
        version = self.pick(None, None, "n") if "n" in node.columns else None
        if "n" in node.columns and any(below.verb == "merge" for below in _below(node)):
            # Of two topics it is not said which event of the same time came later.
            version = "n"
        return Node("as_table", (node,), node.columns, key, "table", node.unique, {"version": version})

    def table(self) -> Node:
        match self.pick("things", "things", "as_table", "as_table", "colors"):
            case "things":
                return self.things
            case "colors":
                return self.colors
            case _:
                return self.as_table(self.stateless(self.stream(), 0, 1))

    def table_verbs(self, node: Node, least: int, most: int, changes: bool = False) -> Node:
        for _ in range(self.chance.randint(least, most)):
            match self.pick("where", "with_columns", "group", "group", "join"):
                case "where":
                    node = _next(node, "where", condition=expressions.condition(self.chance, node.columns))
                case "with_columns":
                    node = self.with_columns(node)
                case "group":
                    node = self.group(node)
                case _:
                    node = self.table_join(node) or self.group(node)
        if changes and self.chance.random() < 0.15:
            columns = {**{name: node.columns[name] for name in node.key}, "op": "string", "before": "struct", "after": "struct"}
            return Node("changes", (node,), columns, node.key, "stream", frozenset())
        return node

    def group(self, node: Node) -> Node:
        texts = expressions.of_type(node.columns, "string")
        key = tuple(self.chance.sample(texts, min(len(texts), self.pick(0, 1, 1, 1, 2))))
        found = aggregates.some(self.chance, node.columns, node.unique, "table")
        while any(name in key for name in found):
            found = {self.name("b"): a for a in found.values()}
        columns = {name: node.columns[name] for name in key} | {name: a.type for name, a in found.items()}
        return Node("group", (node,), columns, key, "table", frozenset(), {"aggregates": found})

    def table_join(self, node: Node) -> Node | None:
        """With the things, the colors, or the newest of the other stream, on a column of the same type: the key or not."""
        used = {id(below) for below in _below(node)}
        choices: list[tuple[Node, str]] = []
        if id(self.things) not in used:
            choices += [(self.things, "id"), (self.things, "color")]
        if id(self.colors) not in used:
            choices += [(self.colors, "name")]
        if not choices:
            return None
        right, theirs = self.chance.choice(choices)
        mine = self.chance.choice([name for name in ("k", "id", "g", "color", "name") if name in node.columns] or [None])
        if mine is None or set(right.columns) - {theirs} & set(node.columns):
            return None
        how = self.pick("inner", "left", "full")
        keys = (set(node.key) == {mine}, set(right.key) == {theirs})
        if keys == (True, True):
            key: tuple[str, ...] = (mine,)
        elif keys[1] and how != "full":
            key = node.key
        else:
            key = tuple(dict.fromkeys((*node.key, *(mine if name == theirs else name for name in right.key))))
        columns = {**node.columns, **{name: kind for name, kind in right.columns.items() if name != theirs}}
        return Node("table_join", (node, right), columns, key, "table", frozenset(), {"on": {mine: theirs}, "how": how})

    # Joins of streams.

    def join(self) -> Node:
        chance = self.chance
        left = self.stateless(self.events, 0, 1) if chance.random() < 0.3 else self.events
        right = self.others if chance.random() < 0.8 else self.events
        if not {"k", "g", "v"} <= set(left.columns):
            left = self.events
        on = self.pick(("k",), ("k",), ("k", "g"))
        rest = {f"r{name}": expressions.named(name, STREAM[name]) for name in ("v", "n", "at")}
        columns = {**{name: STREAM[name] for name in on}, **{name: e.type for name, e in rest.items()}}
        other = _next(right, "select", columns=columns, key=(), unique=frozenset(["rn"]), kept=list(on), named=rest)
        columns = {**{name: STREAM[name] for name in on}, **left.columns, **{name: e.type for name, e in rest.items()}}
        within = self.pick(self.unit // 2, self.unit, 4 * self.unit)
        how = self.pick("inner", "left", "right", "full")
        return Node("join", (left, other), columns, on, "stream", frozenset(), {"on": on, "within": within, "how": how})

    def behind_join(self, node: Node) -> Node:
        node = self.stateless(node, 0, 1)
        match self.pick("none", "none", "window", "running", "table"):
            case "window":
                return self.window(self.keyed(node), emit="final")
            case "running":
                return self.running(node)
            case "table" if "n" in node.columns and "rn" in node.columns:
                # Of several pairs with the same time any may be the newest.
                return self.running(node)
            case _:
                return node

    def lookup(self) -> Node:
        chance = self.chance
        stream = self.stateless(self.events, 0, 1)
        while not {"k", "g"} <= set(stream.columns) or any(below.verb == "merge" for below in _below(stream)):
            stream = self.events
        as_of = self.pick("arrival", "event_time", "event_time")
        table, on = (
            (self.things, {"k": "id"}) if as_of == "event_time" or chance.random() < 0.6 else (self.colors, {"g": "name"})
        )
        if chance.random() < 0.3:
            table = _next(table, "where", condition=expressions.condition(chance, table.columns))
        if as_of == "event_time" and chance.random() < 0.5:
            table, on = self.computed()
        columns = {**stream.columns, **{name: kind for name, kind in table.columns.items() if name not in on.values()}}
        how = self.pick("inner", "left")
        options: dict[str, Any] = {"on": on, "how": how, "as_of": as_of, "history": 100_000 * HOUR}
        if "rev" in table.columns and self.things.options.get("version") and chance.random() < 0.4:
            # Without a version of its own, a row has its offset; time that moves on in the kit takes offsets, too.
            options["with_version"] = True
            columns["version"] = "bigint"
        return Node("lookup", (stream, table), columns, stream.key, "stream", stream.unique, options)

    def computed(self) -> tuple[Node, dict[str, str]]:
        """A table that is computed from others; as of a time it is what it would be of their rows at that time.

        On arrival it is what it was at the end of a batch, as documented: such a join is not made here.
        """
        newest = self.as_table(self.pick(self.others, self.others, self.events))
        base, key, on = self.pick((self.things, "color", "g"), (newest, "k", "k"), (newest, "g", "g"))
        if self.chance.random() < 0.3:
            base = _next(base, "where", condition=expressions.condition(self.chance, base.columns))
        if base is self.things and self.chance.random() < 0.3:
            newest = self.as_table(
                _next(self.others, "select", columns={"k": "string", "v": "bigint"}, kept=["k", "v"], named={})
            )
            how = self.pick("inner", "left")
            options = {"on": {"id": "k"}, "how": how}
            base = Node("table_join", (base, newest), {**base.columns, "v": "bigint"}, ("id",), "table", frozenset(), options)
        found = aggregates.some(self.chance, base.columns, base.unique, "table")
        columns = {key: "string"} | {name: a.type for name, a in found.items()}
        return Node("group", (base,), columns, (key,), "table", frozenset(), {"aggregates": found}), {on: key}

    def behind_lookup(self, node: Node) -> Node:
        node = self.stateless(node, 0, 1)
        match self.pick("none", "none", "window", "running"):
            case "window":
                return self.window(self.keyed(node))
            case "running":
                return self.running(node)
            case _:
                return node


def _below(node: Node) -> list[Node]:
    found = [node]
    for source in node.inputs:
        found += _below(source)
    return found


def _next(node: Node, verb: str, **changed: Any) -> Node:
    """What a verb passes on from its input, but for what it changes; the rest are its options."""
    known = {name: changed.pop(name) for name in ("columns", "key", "kind", "unique") if name in changed}
    made = {"columns": node.columns, "key": node.key, "kind": node.kind, "unique": node.unique, **known}
    # A verb that drops a column of the key drops the key.
    if any(name not in made["columns"] for name in made["key"]):
        made["key"] = ()
    made["unique"] = frozenset(name for name in made["unique"] if name in made["columns"])
    return Node(verb, (node,), options=changed, **made)


def _replaced(node: Node, **changed: Any) -> Node:
    made = {"columns": node.columns, "key": node.key, "kind": node.kind, "unique": node.unique, **changed}
    options = made.pop("options", node.options)
    return Node(node.verb, node.inputs, options=options, **made)
