"""Every error Headrace raises on purpose.

    HeadraceError
    ├── PlanError        the program is wrong: a name, a type, a window; carries the user's line
    │   ├── UnknownName  a verb that does not exist; also an AttributeError
    │   └── ArgumentError  a misspelt, missing or unnamed argument; also a TypeError
    ├── ConfigError      a setting, a flag or headrace.toml is wrong
    ├── SetupError       this machine lacks something: Java, a jar, disk
    ├── BrokerError      the log can't be reached, or refuses
    │   └── TopicError   a topic is missing, exists already, or has another shape
    ├── SourceError      what is read is not there, or not what it was
    └── RunError         a running query stopped
        ├── BadRecord    a record that can't be decoded, and bad="fail"
        └── StateError   the checkpoint does not belong to this program

An error says what is wrong, where (the user's line), and what to do next. `str(error)` is what people read.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.printable import LINES, printable


@dataclass(frozen=True, slots=True)
class Where:
    """A line of the user's program."""

    file: str
    line: int
    code: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f": {self.code}" if self.code else "")


class HeadraceError(Exception):
    """What is wrong, where, and the next step."""

    def __init__(self, message: str, *, where: Where | None = None, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        lines = [self.message]
        if self.where is not None:
            lines.append(f"  at {self.where}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return printable("\n".join(lines), keep=LINES)


class PlanError(HeadraceError): ...


class UnknownName(PlanError, AttributeError): ...


class ArgumentError(PlanError, TypeError): ...


class ConfigError(HeadraceError): ...


class SetupError(HeadraceError): ...


class BrokerError(HeadraceError): ...


class TopicError(BrokerError): ...


class SourceError(HeadraceError): ...


class RunError(HeadraceError): ...


class BadRecord(RunError): ...


class StateError(RunError): ...
