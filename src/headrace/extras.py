"""Packages that only some programs need. A plain install leaves them out; the error names the command that adds them."""

from __future__ import annotations

from importlib.util import find_spec

from headrace.errors import SetupError, Where

EXTRAS = {
    "pandas": ("pandas", "pyarrow"),
    "serve": ("duckdb", "httptools", "lmdb", "prometheus_client", "starlette", "uvicorn", "websockets"),
}
"""As in `pyproject.toml`, by the names that are imported."""


def require(extra: str, what: str, *, where: Where | None = None) -> None:
    """Refuses `what`, a plural, unless the packages of the extra are installed."""
    missing = [package for package in EXTRAS[extra] if find_spec(package) is None]
    if missing:
        raise SetupError(
            f"{what} need {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed",
            where=where,
            fix=f"pip install 'headrace[{extra}]'",
        )
