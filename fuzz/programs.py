"""A program as data, and as the Python text that is run: what is printed for a person is what ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

SECOND = 1_000_000
_UNITS = (("days", 86_400 * SECOND), ("hours", 3_600 * SECOND), ("seconds", SECOND), ("ms", 1_000), ("us", 1))

STREAM = {"k": "string", "g": "string", "v": "bigint", "w": "double", "n": "bigint", "tags": "array<string>", "at": "timestamp"}
"""The columns of the streams. `n` is another number in each record."""
THINGS = {"id": "string", "color": "string", "size": "bigint", "rev": "bigint", "m": "bigint", "since": "timestamp"}
"""The columns of the table of things. Its ids are the k of the streams, its colors the names of the colors and the g."""
COLORS = {"name": "string", "rank": "bigint", "c": "bigint"}


@dataclass(frozen=True, slots=True)
class Window:
    """What `stream.window` takes; times are in microseconds."""

    kind: str
    size: int = 0
    every: int = 0
    offset: int = 0
    unit: str | None = None
    zone: str = "UTC"

    @property
    def text(self) -> str:
        offset = f", offset={duration(self.offset)!r}" if self.offset else ""
        zone = f", zone={self.zone!r}" if self.zone != "UTC" else ""
        match self.kind:
            case "tumbling":
                return f"hr.tumbling({duration(self.size)!r}{offset})"
            case "hopping":
                return f"hr.hopping({duration(self.size)!r}, every={duration(self.every)!r}{offset})"
            case "sliding":
                return f"hr.sliding({duration(self.size)!r})"
            case "session":
                return f"hr.session(gap={duration(self.size)!r})"
            case "calendar":
                return f"hr.calendar({self.unit!r}{zone}{offset})"
            case _:
                size = repr(self.unit) if self.unit else repr(duration(self.size))
                return f"hr.cumulating({size}, every={duration(self.every)!r}{zone}{offset})"


@dataclass(frozen=True, eq=False)
class Node:
    """A verb over its inputs. `options` are the verb's own: values, Expressions, Aggregates, a Window."""

    verb: str
    inputs: tuple[Node, ...]
    columns: Mapping[str, str]
    key: tuple[str, ...] = ()
    kind: Literal["stream", "table"] = "stream"
    unique: frozenset[str] = frozenset()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def input(self) -> Node:
        return self.inputs[0]

    def __getitem__(self, option: str) -> Any:
        return self.options[option]


@dataclass(frozen=True, slots=True)
class Program:
    """What is written where."""

    outputs: tuple[tuple[str, Node], ...]

    def nodes(self) -> list[Node]:
        return list(walk(node for _, node in self.outputs))

    def sources(self) -> list[Node]:
        return [node for node in self.nodes() if not node.inputs]


def walk(ends: Iterator[Node] | Sequence[Node]) -> Iterator[Node]:
    """Inputs first, each once."""
    seen: set[int] = set()

    def visit(node: Node) -> Iterator[Node]:
        if id(node) not in seen:
            seen.add(id(node))
            for source in node.inputs:
                yield from visit(source)
            yield node

    for end in ends:
        yield from visit(end)


def printed(programs: Sequence[Program], prefix: str = "") -> str:
    """The Python text of an application that has all of these programs; the prefix is that of its name and its topics."""
    lines = ["import headrace as hr", "", f'app = hr.App("{prefix}fuzz")']
    names: dict[int, str] = {}
    for program in programs:
        for node in program.nodes():
            if id(node) in names:
                continue
            if node.inputs:
                made = f"s{len(names)}" if node.kind == "stream" else f"t{len(names)}"
                windowed = node.verb in ("window", "late")
                if windowed and id(node["windowed"]) not in names:
                    names[id(node["windowed"])] = f"w{len(names)}"
                    lines.append(f"{names[id(node['windowed'])]} = {names[id(node.input)]}.{_windowed(node)}")
                on = names[id(node["windowed"])] if windowed else names[id(node.input)]
                lines.append(f"{made} = {on}.{_call(node, names)}")
            else:
                made = node.options.get("name", node["topic"])
                lines.append(f"{made} = {_source(node, prefix)}")
            names[id(node)] = made
        lines += [f"{names[id(node)]}.to({prefix + topic!r})" for topic, node in program.outputs]
    return "\n".join(lines) + "\n"


def _windowed(node: Node) -> str:
    emit = node["emit"]
    emit = f"hr.every({duration(emit)!r})" if isinstance(emit, int) else repr(emit)
    late = f", late={node['late']!r}" if node["late"] != "drop" else ""
    close = f", close_after={duration(node['close_after'])!r}" if node.options.get("close_after") else ""
    return f"window({node['window'].text}, emit={emit}{late}{close})"


def _source(node: Node, prefix: str) -> str:
    options = {"schema": ", ".join(f"{name} {kind}" for name, kind in node.columns.items())}
    options |= {name: value for name in ("key", "version", "time") if (value := node.options.get(name)) is not None}
    for name in ("lateness", "idle_after", "close_after"):
        if node.options.get(name) is not None:
            options[name] = duration(node[name])
    text = ", ".join(f"{name}={value!r}" for name, value in options.items())
    return f"app.{node.kind}({prefix + node['topic']!r}, {text})"


def _call(node: Node, names: Mapping[int, str]) -> str:
    match node.verb:
        case "where":
            return f"where({_quoted(node['condition'].text)})"
        case "select":
            return f"select({', '.join([*map(repr, node['kept']), *_named(node['named'])])})"
        case "with_columns":
            return f"with_columns({', '.join(_named(node['named']))})"
        case "split":
            return f"split({_quoted(node['condition'].text)})[{node['part']}]"
        case "drop":
            return f"drop({node['dropped']!r})"
        case "explode":
            return f"explode('tags', name={node['name']!r})"
        case "merge":
            return f"merge({', '.join(names[id(other)] for other in node.inputs[1:])})"
        case "dedupe":
            within = "" if node["within"] is None else f", within={duration(node['within'])!r}"
            return f"dedupe({', '.join(map(repr, node['by']))}{within})"
        case "key_by":
            return f"key_by({', '.join(map(repr, node.key))})"
        case "as_table":
            version = "" if node["version"] is None else f", version={node['version']!r}"
            return f"as_table(key={list(node.key)!r}{version})"
        case "agg" | "window":
            return f"agg({', '.join(_named(node['aggregates']))})"
        case "group":
            by = f"key_by({', '.join(map(repr, node.key))})." if node.key else ""
            return f"{by}agg({', '.join(_named(node['aggregates']))})"
        case "join":
            on = f"on={node['on']!r}, within={duration(node['within'])!r}, how={node['how']!r}"
            return f"join({names[id(node.inputs[1])]}, {on})"
        case "lookup":
            history = f", history={duration(node['history'])!r}" if node["as_of"] == "event_time" else ""
            version = ", with_version=True" if node.options.get("with_version") else ""
            as_of = f", as_of={node['as_of']!r}{history}{version}"
            return f"join({names[id(node.inputs[1])]}, on={node['on']!r}, how={node['how']!r}{as_of})"
        case "table_join":
            return f"join({names[id(node.inputs[1])]}, on={node['on']!r}, how={node['how']!r})"
        case "late":
            return "late"
        case "changes":
            return "changes()"
        case _:
            raise AssertionError(node.verb)


def _named(items: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_quoted(item.text)}" for name, item in items.items()]


def _quoted(text: str) -> str:
    return f'"{text}"'


def duration(micros: int) -> str:
    for name, size in _UNITS:
        if micros % size == 0:
            return f"{micros // size} {name}"
    raise AssertionError(micros)
