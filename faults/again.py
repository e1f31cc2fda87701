"""Runs the application to its end each time a line comes: `python -m faults.again ADDRESS STATE`."""

from __future__ import annotations

import sys

from faults.app import app
from headrace.errors import HeadraceError
from headrace.runtime.display import Silent
from headrace.runtime.run import run


def main() -> None:
    address, state = sys.argv[1:]
    for _ in sys.stdin:
        try:
            run(app, until="now", flags={"broker": address, "state": state}, display=Silent())
        except HeadraceError as e:
            print(" ".join(str(e).split()), flush=True)
        else:
            print("done", flush=True)


if __name__ == "__main__":
    main()
