"""Finds the App in a user's file."""

from __future__ import annotations

import importlib.util
import linecache
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark import cloudpickle as _cloudpickle

from headrace.app import App
from headrace.errors import ConfigError, HeadraceError, PlanError, Where

# It has no types of its own.
cloudpickle: Any = _cloudpickle


def load(target: str) -> App:
    """The application of `file.py`, or of `file.py:name` where the file has several."""
    path, _, name = target.partition(":")
    file = Path(path)
    if not file.is_file():
        raise ConfigError(f"there is no file {path}", fix="headrace run FILE.py; headrace new NAME starts a project")
    spec = importlib.util.spec_from_file_location("headrace_app", file.resolve())
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} is not a Python file", fix="headrace run FILE.py")
    module = importlib.util.module_from_spec(spec)
    _reach_workers(module, file.resolve().parent)
    try:
        spec.loader.exec_module(module)
    except HeadraceError:
        raise
    except Exception as e:
        raise PlanError(f"{path} can't be read: {type(e).__name__}: {e}", where=_place(e, file)) from e
    apps = {key: value for key, value in vars(module).items() if isinstance(value, App)}
    if name:
        if name not in apps:
            raise ConfigError(f"{path} has no App called {name}", fix=f"it has: {', '.join(apps) or 'none'}")
        return apps[name]
    if len(set(map(id, apps.values()))) != 1:
        found = f"several Apps: {', '.join(apps)}" if apps else "no App"
        raise ConfigError(f"{path} has {found}", fix=f"headrace run {path}:NAME" if apps else 'write app = hr.App("name")')
    return next(iter(apps.values()))


def _reach_workers(module: ModuleType, folder: Path) -> None:
    """Python workers can't import the user's file by the name we gave it: it goes by value, what stands beside it by path."""
    sys.modules[module.__name__] = module
    cloudpickle.register_pickle_by_value(module)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))


def _place(e: Exception, file: Path) -> Where:
    if isinstance(e, SyntaxError) and e.lineno:
        return Where(str(file), e.lineno, (e.text or "").strip())
    frames = [frame for frame in traceback.extract_tb(e.__traceback__) if Path(frame.filename) == file.resolve()]
    line = frames[-1].lineno or 1 if frames else 1
    return Where(str(file), line, linecache.getline(str(file.resolve()), line).strip())
