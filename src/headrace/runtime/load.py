"""Finds the App in a user's file."""

from __future__ import annotations

import importlib.util
import linecache
import os
import sys
import traceback
from pathlib import Path

from headrace.app import APP_MODULE, App
from headrace.errors import ConfigError, HeadraceError, PlanError, Where


def load(target: str) -> App:
    """The application of `file.py`, or of `file.py:name` where the file has several."""
    path, _, name = target.partition(":")
    file = Path(path)
    if not file.is_file():
        raise ConfigError(f"there is no file {path}", fix="name the file of an application; headrace new NAME starts a project")
    spec = importlib.util.spec_from_file_location(APP_MODULE, file.resolve())
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} is not a Python file", fix="name the file of an application, FILE.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[APP_MODULE] = module
    # What stands beside the file can be imported, here and by Python workers.
    folder = str(file.resolve().parent)
    if sys.path[0] != folder:
        sys.path.insert(0, folder)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    try:
        spec.loader.exec_module(module)
    except HeadraceError:
        raise
    except Exception as e:
        raise _refused(e, file) from e
    apps = {key: value for key, value in vars(module).items() if isinstance(value, App)}
    if name:
        if name not in apps:
            raise ConfigError(f"{path} has no App called {name}", fix=f"it has: {', '.join(apps) or 'none'}")
        return apps[name]
    if len(set(map(id, apps.values()))) != 1:
        found = f"several Apps: {', '.join(apps)}" if apps else "no App"
        raise ConfigError(f"{path} has {found}", fix=f"headrace run {path}:NAME" if apps else 'write app = hr.App("name")')
    return next(iter(apps.values()))


def forget(target: str) -> None:
    """The file and the modules beside it are loaded anew next time."""
    for name in local_modules(target):
        del sys.modules[name]
    linecache.checkcache()


def local_modules(target: str) -> dict[str, Path]:
    """What is loaded from the folder of the file, by name; installed packages in it are not the user's own."""
    folder = Path(target.partition(":")[0]).resolve().parent
    found: dict[str, Path] = {}
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if path is None or name == "__main__" or name.partition(".")[0] == "headrace":
            continue
        file = Path(path).resolve()
        if file.is_relative_to(folder) and not {"site-packages", "dist-packages"} & set(file.parts):
            found[name] = file
    return found


def _refused(e: Exception, file: Path) -> PlanError:
    """The user's file raised an exception of its own, or pyspark's, which finds no Spark while an application is declared."""
    where = _place(e, file)
    last = traceback.extract_tb(e.__traceback__)[-1:]
    in_pyspark = any(f"{os.sep}pyspark{os.sep}" in frame.filename for frame in last)
    if in_pyspark and (isinstance(e, AssertionError) or "SESSION_OR_CONTEXT_NOT_EXISTS" in str(e)):
        return PlanError(
            "pyspark's functions need a running Spark, and there is none while the application is declared",
            where=where,
            fix='expressions are SQL text: where("v > 1"), with_columns(u="upper(k)"); apply(function) gets a DataFrame',
        )
    said = f"{type(e).__name__}: {e}" if str(e) else type(e).__name__
    return PlanError(f"{file} can't be loaded: {said}", where=where)


def _place(e: Exception, file: Path) -> Where:
    if isinstance(e, SyntaxError) and e.lineno:
        # It may be in a module that the file imports.
        own = e.filename is None or Path(e.filename) == file.resolve()
        return Where(str(file) if own else str(e.filename), e.lineno, (e.text or "").strip())
    frames = [frame for frame in traceback.extract_tb(e.__traceback__) if Path(frame.filename) == file.resolve()]
    line = frames[-1].lineno or 1 if frames else 1
    return Where(str(file), line, linecache.getline(str(file.resolve()), line).strip())
