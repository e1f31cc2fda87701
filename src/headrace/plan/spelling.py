"""Names that are not there, of verbs and of arguments: an error at the user's line that says what to write instead.

One mechanism for the whole facade: `facade` for its classes, `arguments` for its functions, `missing` for its modules.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

from headrace.errors import ArgumentError, UnknownName, Where
from headrace.plan import habits
from headrace.plan.callsite import call_site

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

# Their line may hold a password: it is not quoted.
_UNQUOTED = ("headrace.sinks", "headrace.secrets")


def closest(name: str, names: Iterable[str]) -> str | None:
    """The one that was probably meant, whatever its case."""
    by_lower = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[close[0]] if close else None


def did_you_mean(name: str, names: Iterable[str], *, quote: str = "'{}'") -> str:
    """ "did you mean 'price'? ", or nothing if no name is close."""
    close = closest(name, names)
    return f"did you mean {quote.format(close)}? " if close else ""


def facade(title: str, known: Mapping[str, str]) -> Callable[[type[T]], type[T]]:
    """Marks a class that users call: its methods check their arguments, and a method it lacks says what to write instead.

    Set here and not in the class, so that type checkers still see which methods there are.
    """

    def mark(cls: type[T]) -> type[T]:
        for name, value in list(vars(cls).items()):
            if isinstance(value, FunctionType) and (name == "__init__" or not name.startswith("_")):
                setattr(cls, name, arguments(value))
        verbs = [name for name in dir(cls) if not name.startswith("_")]

        def lacking(self: object, name: str) -> Any:
            # What looks for a protocol (copy, pickle, notebooks) wants a plain answer; a property that failed wants its own.
            if name.startswith("_") or name in verbs:
                return object.__getattribute__(self, name)
            raise missing(title, name, verbs, known)

        cls.__getattr__ = lacking  # pyright: ignore[reportAttributeAccessIssue]
        return cls

    return mark


def missing(title: str, name: str, names: Sequence[str], known: Mapping[str, str]) -> AttributeError:
    """The error for a name that `title` lacks. Of modules, names with an underscore are asked for by Python itself."""
    if name.startswith("_"):
        return AttributeError(f"{title} has no {name!r}", name=name)
    fix = known.get(name) or f"{did_you_mean(name, names)}{title} has: {', '.join(sorted(names))}"
    return UnknownName(f"{title} has no {name!r}", where=call_site().where, fix=fix)


def arguments(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose wrong arguments are an error at the user's line, with the arguments that it takes."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError:
            signature = inspect.signature(function)
            try:
                signature.bind(*args, **kwargs)
            except TypeError as e:
                raise _wrong(cast("Callable[..., Any]", function), signature, args, kwargs, str(e)) from None
            raise

    return call


def _wrong(
    function: Callable[..., Any], signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any], said: str
) -> ArgumentError:
    where = call_site().where
    quoted = not function.__module__.startswith(_UNQUOTED)
    if not quoted:
        where = Where(where.file, where.line)
    name = function.__qualname__.split(".")[0] if function.__name__ == "__init__" else function.__name__
    parameters = {key: value for key, value in signature.parameters.items() if key != "self"}
    given = args[1:] if "self" in signature.parameters else args
    by_place = [key for key, value in parameters.items() if value.kind is value.POSITIONAL_OR_KEYWORD]
    by_name = [key for key, value in parameters.items() if value.kind is value.KEYWORD_ONLY]
    takes = f"it takes: {', '.join([*by_place, *(f'{key}=' for key in by_name)]) or 'nothing'}"
    any_name = any(value.kind is value.VAR_KEYWORD for value in parameters.values())
    unknown = None if any_name else next((key for key in kwargs if key not in parameters), None)
    if unknown is not None:
        close = _meant(unknown, [key for key in parameters if key not in kwargs])
        meant = f"did you mean {close}=? " if close else ""
        return ArgumentError(f"{name}() has no argument {unknown!r}", where=where, fix=meant + takes)
    if len(given) > len(by_place):
        extra = given[len(by_place)]
        value = repr(extra) if quoted and isinstance(extra, str) else "…"
        free = "name" if any_name else next((key for key in by_name if key not in kwargs), None)
        fix = f"write {name}({', '.join([*by_place, f'{free}={value}'])})" if free else takes
        return ArgumentError(f"{name}() takes {_counted(by_place, len(given))}", where=where, fix=fix)
    lacking = [
        f"{key}=" if key in by_name else key
        for position, (key, value) in enumerate(parameters.items())
        if value.default is value.empty and key not in kwargs and position >= len(given) and key in (*by_place, *by_name)
    ]
    if lacking:
        return ArgumentError(f"{name}() needs {' and '.join(lacking)}", where=where, fix=takes)
    return ArgumentError(f"{name}(): {said}", where=where, fix=takes)


def _counted(by_place: Sequence[str], given: int) -> str:
    if not by_place:
        return "named arguments only"
    many = "arguments" if len(by_place) > 1 else "argument"
    return f"{len(by_place)} positional {many} ({', '.join(by_place)}), not {given}"


def _meant(typed: str, names: Sequence[str]) -> str | None:
    return next((name for name in names if typed in habits.ARGUMENTS.get(name, ())), None) or closest(typed, names)
