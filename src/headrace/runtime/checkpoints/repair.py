"""`headrace repair`: a query whose destinations and whose checkpoint don't fit together goes on from the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.config import Config
from headrace.errors import ConfigError
from headrace.plan.queries import QuerySpec
from headrace.runtime import run
from headrace.runtime.checkpoints import mend, state
from headrace.runtime.display import Display
from headrace.spark import ends, jvm
from headrace.spark.compile import compile
from headrace.spark.read import inputs

if TYPE_CHECKING:
    from headrace.app import App


def find(app: App, query: str) -> QuerySpec:
    specs = {spec.name: spec for spec in app.queries()}
    if query not in specs:
        raise ConfigError(f"{app.name} has no query {query!r}", fix=f"it has: {', '.join(specs)}")
    return specs[query]


def repair(app: App, query: str, *, flags: Mapping[str, Any] | None = None, display: Display) -> list[str]:
    """Destinations that don't fit the query's checkpoint take its next batch, whichever it is; returns which these are."""
    spec, config = find(app, query), Config.load(flags)
    with run.alone(spec, config, display) as (spark, connection):
        if config.local_state is not None:
            for file in mend.mend(Path(state.location(config.state, spec))):
                display.say(f"{file} of the checkpoint is whole; its checksum was that of another file, and is removed")
        compiled = compile(spec, lambda read: inputs.of(read, connection, config).records(spark))
        run.own_topics(connection, spec)
        ends.register(compiled, run.places(spec, config, connection))
        repaired = jvm.repair_sink(spark, spec.id, state.location(config.state, spec))
        state.forget_marks(spark, config.state, spec)
        return repaired
