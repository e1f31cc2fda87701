"""The pytest plugin: the fixture `drive`. It imports Spark only when a test asks for it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headrace.app import App
    from headrace.testing.driver import Driver


@pytest.fixture
def drive() -> Generator[Callable[[App], Driver]]:
    """Makes drivers and closes them at the end of the test: `t = drive(app)`."""
    from headrace.testing.driver import Driver

    made: list[Driver] = []

    def make(app: App) -> Driver:
        made.append(Driver(app))
        return made[-1]

    yield make
    for driver in made:
        driver.close()
