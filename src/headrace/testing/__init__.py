"""Tests of your application: no broker, no waiting, and the same compiled plan that runs for real.

    from headrace.testing import Driver, at

With pytest there is the fixture `drive`: `t = drive(app)`.
"""

from headrace.testing.driver import Driver
from headrace.testing.tables import at

__all__ = ["Driver", "at"]
