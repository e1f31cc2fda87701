"""`headrace reset`: a query starts over, as if it had never run. Its output is kept or deleted, as the user says.

A note in the checkpoint's folder comes first and goes last: a run that finds it refuses to start, and the next reset does
everything again.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.broker import clear, topics
from headrace.config import Config
from headrace.effects.outbox import Outbox
from headrace.plan.queries import QuerySpec
from headrace.plan.sink import Output
from headrace.runtime import dead, run
from headrace.runtime.checkpoints import repair, state
from headrace.runtime.display import Display
from headrace.spark import ends, jvm, storage
from headrace.spark.compile import compile
from headrace.spark.read import inputs

if TYPE_CHECKING:
    from headrace.app import App


def consequences(app: App, query: str, output: Output, *, flags: Mapping[str, Any] | None = None) -> list[str]:
    """What a reset would do, in sentences. Refuses what can't be done."""
    spec, config = repair.find(app, query), Config.load(flags)
    read = ", ".join(dict.fromkeys(source.source.title for source in spec.sources))
    said = [f"the state in {state.location(config.state, spec)} is deleted: the query reads {read} from the start again"]
    said += [f"but {skip}" for skip in dict.fromkeys(source.source.skips for source in spec.sources) if skip]
    said += [_topic(topic, spec, output) for topic in spec.topics]
    said += [f"late events are written to {write.label} again" for write in spec.late if output == "keep"]
    said += [f"all records of the topic {write.label} are deleted" for write in spec.late if output == "delete"]
    said += [sink.reset(output, spec.node) for sink in spec.sinks]
    if output == "delete":
        said.append("its dead letters are deleted; records that still can't be used become dead letters again")
    for other in app.queries():
        if read := sorted(filter(other.reads, spec.all_topics)):
            said.append(f"query {other.name} reads {', '.join(read)}: {_reader(other, spec)}")
    return said


def reset(app: App, query: str, output: Output, *, flags: Mapping[str, Any] | None = None, display: Display) -> None:
    """Can be done again if it was interrupted."""
    spec, config = repair.find(app, query), Config.load(flags)
    with run.alone(spec, config, display) as (spark, connection):
        compiled = compile(spec, lambda read: inputs.of(read, connection, config).records(spark))
        run.own_topics(connection, spec)
        places = run.places(spec, config, connection)
        if places.outbox is not None:
            Outbox(places.outbox).close()
        state.begin_reset(spark, config.state, spec)
        ends.register(compiled, places)
        jvm.forget_sink(spark, spec.id, rows=output == "delete")
        if output == "delete":
            for topic in filter(partial(topics.exists, connection), spec.all_topics):
                if _by_key(spec) and topic in spec.topics:
                    clear.delete_rows(connection, topic)
                else:
                    clear.delete_records(connection, topic)
            dead_letters = [each for each in dead.read(connection, app.name) if each.query == spec.name]
            if dead_letters:
                dead.drop(connection, app.name, dead_letters)
            for writer in spec.spark_writers:
                storage.delete_files(spark, writer.path)
            state.disown(spark, config.state, spec, [other.name for other in app.queries()])
        state.end_reset(spark, config.state, spec)


def _by_key(spec: QuerySpec) -> bool:
    """Whether a new row replaces another one; a table without a key is a single row, which is written again and again."""
    return spec.node.kind == "table" and bool(spec.node.key)


def _topic(topic: str, spec: QuerySpec, output: Output) -> str:
    if _by_key(spec):
        if output == "delete":
            return f"every row of the topic {topic} is deleted, by a record without a value for each key"
        return f"rows of the topic {topic} stay until new ones with their keys replace them; other keys stay for good"
    if output == "delete":
        return f"all records of the topic {topic} are deleted"
    return f"all results are written to the topic {topic} again, behind those that are there: its readers get them twice"


def _reader(other: QuerySpec, spec: QuerySpec) -> str:
    if spec.node.kind == "table":
        return "it sees the rows change and follows"
    return f"it gets the results a second time; to leave them out of what it keeps, reset it too: {state.reset_command(other)}"
