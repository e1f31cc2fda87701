"""The same with a broker: each part of a history is sent to topics, and the application runs until it has processed it.

Only streams are read: in a real log the time of a record is the time of the day, and so is that of a table's delete.
"""

from __future__ import annotations

import json
import random
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from fuzz import generate, histories
from fuzz import run as kit
from fuzz.expressions import Row
from fuzz.group import Group
from fuzz.histories import Cuts, History
from fuzz.interpreter import Interpreter
from fuzz.programs import SECOND, Node, Program, printed
from fuzz.run import Case, Difference, difference
from headrace.broker import embedded, peek, send, topics
from headrace.broker.client import Connection
from headrace.broker.records import Record
from headrace.config import Config
from headrace.runtime import run as runtime
from headrace.runtime.display import Silent


@contextmanager
def broker() -> Iterator[Connection]:
    config = Config.load({}, cwd=Path(tempfile.mkdtemp(prefix="headrace-fuzz-")), environ={})
    try:
        yield Connection(embedded.up(config))
    finally:
        embedded.down(config)


def make(seed: int, size: int) -> Group:
    """Programs over streams. Some close windows when it is quiet, for which a bounded run never waits."""
    chance = random.Random(seed)
    sources = generate.sources(chance, SECOND)
    programs: list[Program] = []
    while len(programs) < size:
        made = generate.program(chance, sources, SECOND, f"out{len(programs)}")
        if all(source.kind == "stream" for source in made.sources()):
            programs.append(made)
    streams = [source for source in sources if source.kind == "stream"]
    history = histories.history(chance, streams, SECOND, [], tame=True, size=60, open=True)
    cuts = replace(histories.whole(history), restarts=frozenset(range(len(history.parts))))
    return Group(seed, tuple(programs), history, (cuts,), tame=True)


def check(programs: Sequence[Program], history: History, cuts: Cuts, connection: Connection) -> list[Difference]:
    return kit.check(programs, history, cuts, partial(run, connection=connection))


def run(programs: Sequence[Program], history: History, cuts: Cuts, connection: Connection) -> list[Difference]:
    prefix = f"fuzz-{uuid.uuid4().hex[:8]}-"
    text = printed(programs, prefix)
    file = Path(tempfile.mkdtemp(prefix="headrace-fuzz-")) / "app.py"
    file.write_text(text)
    read = sorted({node["topic"] for program in programs for node in program.sources()})
    # One partition: the rows of a table without a key have no order across several.
    for topic in (*read, *(topic for program in programs for topic, _ in program.outputs)):
        topics.ensure(connection, prefix + topic, partitions=1)
    for part in history.parts:
        for topic in read:
            rows = [Record(_json(record.row)) for record in part if record.topic == topic and record.row is not None]
            send.send(connection, prefix + topic, rows)
        scope: dict[str, Any] = {}
        exec(compile(text, str(file), "exec"), scope)
        flags = {"broker": connection.address, "state": str(file.parent / "state")}
        runtime.run(scope["app"], until="now", flags=flags, display=Silent())
    found: list[Difference] = []
    for program in programs:
        for topic, node in program.outputs:
            what = difference(node, _written(connection, prefix + topic, node), Interpreter(history, cuts).rows(node))
            found += [Difference(Case(program, history, cuts), topic, what, kind="bounded")] if what else []
    return found


def _json(row: Row) -> bytes:
    return json.dumps(row, default=lambda value: value.isoformat()).encode()


def _written(connection: Connection, topic: str, node: Node) -> list[Row]:
    rows: dict[Any, Row] = {}
    for number, record in enumerate(peek.read(connection, topic)):
        key = number if node.kind == "stream" else record.key
        rows.pop(key, None)
        if record.value is not None:
            rows[key] = {name: _cell(node, name, cell) for name, cell in json.loads(record.value).items()}
    return list(rows.values())


def _cell(node: Node, name: str, cell: Any) -> Any:
    if cell is None or node.columns.get(name) != "timestamp":
        return cell
    when = datetime.fromisoformat(cell)
    return when if when.tzinfo else when.replace(tzinfo=UTC)
