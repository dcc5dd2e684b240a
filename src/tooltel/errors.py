"""
Every exception that tooltel raises.

    TooltelError
    ├── CatalogError (ValueError)          the catalog, or its use, has problems: all of them are listed
    ├── UnknownToolError (LookupError)     a decorated function is not in the catalog
    ├── NotConfiguredError (RuntimeError)  the default instance was asked for before configure()
    ├── SettingError (ValueError)          a setting is unknown or its value cannot be read
    ├── SignalError (ValueError)           an expression names a metric or label that no signal has
    ├── RegistryError (ValueError)         the Prometheus registry already holds these series
    ├── StateInUseError (OSError)          another sidecar uses this state folder
    ├── NoMetricsError (OSError)           a URL to be watched cannot be reached, or shows nothing of tooltel's
    ├── MissingExtraError (ImportError)    an optional package is missing; the pip line is in the message
    ├── Rejected (ValueError)              raised *by a tool*: the arguments are well-formed and still wrong
    └── Refused (PermissionError)          raised *by a tool*: a policy forbids the call

Facts are attributes, so that nobody has to parse a message.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


class Level(StrEnum):
    """How much a problem matters: an error stops a start, a warning is only said."""

    ERROR = "error"
    WARN = "warn"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Problem:
    """
    One thing wrong with a catalog: where, what, and what to write instead.

    `rule` is a stable, short code (`unknown_owner`); `path` the dotted key in the file (`tools.refund.owner`);
    `file` and `line` are None for a catalog made in code. `house` marks a rule of style that levels may relax.
    """

    rule: str
    path: str
    what: str
    fix: str
    file: str | None = None
    line: int | None = None
    level: Level = Level.ERROR
    house: bool = False

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        start = f"{place}: " if place else ""
        return f"{start}{self.level}: {self.path}: {self.what}; {self.fix} [{self.rule}]"


class TooltelError(Exception):
    """Base of everything that tooltel raises on purpose. All survive a copy and a trip to another process."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception's own would call the constructor with the message, but ours take facts; and a pool of
        # processes breaks over an exception that it cannot read.
        return _remade, (type(self), self.args), vars(self)


def _remade(kind: type[TooltelError], args: tuple[Any, ...]) -> TooltelError:
    error = kind.__new__(kind)
    error.args = args
    return error


class CatalogError(TooltelError, ValueError):
    """The catalog has problems; `problems` holds every one of them, in file order."""

    def __init__(self, problems: Iterable[Problem], *, source: str = "catalog") -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        self.source = source
        count = len(self.problems)
        noun = "problem" if count == 1 else "problems"
        lines = [f"{count} {noun} in {source}:", *(f"  {problem}" for problem in self.problems)]
        super().__init__("\n".join(lines))


class UnknownToolError(TooltelError, LookupError):
    """A function was decorated whose name the catalog does not hold."""

    def __init__(self, name: str, *, nearest: str | None, where: str) -> None:
        self.name, self.nearest, self.where = name, nearest, where
        hint = f"did you mean {nearest!r}? Otherwise " if nearest else ""
        super().__init__(
            f"{where}: no tool {name!r} in the catalog; {hint}add [tools.{name}] to the catalog file, "
            f"pass name=, or declare it here: @tel.tool(owner=..., version=..., risk=...)"
        )


class NotConfiguredError(TooltelError, RuntimeError):
    """The default instance was used before `tooltel.configure()`."""

    def __init__(self) -> None:
        super().__init__('no default instance yet: call tooltel.configure("tools.toml") at start-up')


class SettingError(TooltelError, ValueError):
    """A setting is unknown, or its value cannot be read."""

    def __init__(self, name: str, problem: str) -> None:
        self.name, self.problem = name, problem
        super().__init__(f"setting {name}: {problem}")


class SignalError(TooltelError, ValueError):
    """An expression names a metric or a label that the table of signals does not have."""


class RegistryError(TooltelError, ValueError):
    """The Prometheus registry already holds tooltel's series."""


class StateInUseError(TooltelError, OSError):
    """Another process holds the lock of a sidecar's state folder."""

    def __init__(self, directory: str, *, pid: str) -> None:
        self.directory, self.pid = directory, pid
        who = f"process {pid}" if pid else "another process"
        super().__init__(
            f"the state folder {directory} is in use by {who}: stop that sidecar, or give this one another --state"
        )


class NoMetricsError(TooltelError, OSError):
    """There is nothing to watch at a URL; the message says why and what to do, and holds no password."""


class MissingExtraError(TooltelError, ImportError):
    """An optional package is missing; `extra` names what to install."""

    def __init__(self, package: str, *, extra: str, purpose: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{purpose} needs {package}: in tooltel's clone, pip install '.[{extra}]'")


class Rejected(TooltelError, ValueError):
    """
    Raised by a tool: the arguments match the schema, and the tool still cannot accept them.

    *field* names the argument, *problem* says what is wrong, *expected* what would have been right.
    Recorded as a domain rejection of that field; the exception itself reaches the caller unchanged.
    """

    def __init__(self, field: str, *, problem: str = "not acceptable", expected: str | None = None) -> None:
        self.field, self.problem, self.expected = field, problem, expected
        wanted = f" (expected {expected})" if expected else ""
        super().__init__(f"{field}: {problem}{wanted}")


class Refused(TooltelError, PermissionError):
    """
    Raised by a tool: *policy* forbids this call, whatever its arguments.

    Recorded as a policy refusal; the exception itself reaches the caller unchanged.
    """

    def __init__(self, reason: str, *, policy: str) -> None:
        self.reason, self.policy = reason, policy
        super().__init__(reason)
