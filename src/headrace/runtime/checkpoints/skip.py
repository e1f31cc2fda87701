"""`headrace skip`: a query whose next records were deleted before it read them goes on with those that are left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.config import Config
from headrace.runtime import run
from headrace.runtime.checkpoints import gaps, repair, state
from headrace.runtime.checkpoints.gaps import Gap
from headrace.runtime.display import Display
from headrace.spark.read import inputs

if TYPE_CHECKING:
    from headrace.app import App


def skip(app: App, query: str, *, flags: Mapping[str, Any] | None = None, display: Display) -> list[Gap]:
    """Notes what is gone; returns that, or nothing if all that the query has yet to read is there."""
    spec, config = repair.find(app, query), Config.load(flags)
    with run.alone(spec, config, display) as (spark, connection):
        place = state.location(config.state, spec)
        sources = [inputs.of(read, connection, config) for read in spec.sources]
        for source in sources:
            source.check(spark, place, first=False)
        found = [gap for gap in gaps.missing(spark, sources, place) if gap not in gaps.known(spark, place)]
        if found:
            gaps.note(spark, place, [*gaps.known(spark, place), *found])
        return found
