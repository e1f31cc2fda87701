"""What a session says, and to whom."""

from __future__ import annotations

from typing import Any

import py4j
import pytest


def test_a_lost_connection_is_not_logged_beside_the_error(spark: Any, caplog: pytest.LogCaptureFixture) -> None:
    for folder, heard in ((py4j.__path__[0], []), ("/home/her/application", ["lost"])):
        exec(compile("import logging; logging.error('lost')", f"{folder}/java_gateway.py", "exec"))
        assert caplog.messages == heard
