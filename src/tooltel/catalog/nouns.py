"""
What a catalog is made of: frozen, plain data.

Nothing here reads a file or judges; `tooltel.catalog.checks` finds what is wrong, `tooltel.loading` reads files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tooltel import signals
from tooltel.errors import Level

NAME_PATTERN: Final = r"^[a-z][a-z0-9_]{2,63}$"
DESCRIPTION_MIN_CHARS: Final = 40
SESSION_RETENTION: Final = 30 * 86400.0  # seconds
HOUSE_RULES: Final = ("name_pattern", "description", "budget")

_EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})


def _tuple(value: Iterable[str] | str) -> tuple[str, ...]:
    # A single string is a slip that would fall apart into letters; `checks` reports it, by its whole value.
    return (value,) if isinstance(value, str) else tuple(value)


@dataclass(frozen=True, slots=True)
class Owner:
    """
    A team that answers pages.

    `page`, `ticket` and `digest` are Alertmanager receivers without a name, e.g.
    `{"pagerduty_configs": [{"routing_key_file": "/etc/..."}]}`; an absent digest means the
    ticket's, an absent ticket the page's.
    """

    name: str
    page: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    ticket: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    digest: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)


@dataclass(frozen=True, slots=True)
class Profile:
    """The set of tools that one kind of agent may see. `budget_chars` bounds its declarations, None: no bound."""

    name: str
    owner: str
    budget_chars: int | None = None


@dataclass(frozen=True, slots=True, eq=True)
class Tool:
    """
    One tool: who owns it, how risky it is, who may see it, and what its old names are.

    `aliases` are old names that still work, `retired` old names that no longer do. `objective` is the promised
    share of calls without error (None: no burn-rate alert), `latency_bound` one of the histogram's bounds in
    seconds. `repeatable` says that an equal call made twice is fine (None: only for `read`). `result_shape` says
    whether return values may be read for their outcome. `alerts` overrides alert options, by alert name.
    """

    name: str
    owner: str
    risk: str = signals.Risk.READ
    version: str = "1"
    profiles: tuple[str, ...] = ()
    description: str | None = None
    aliases: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    objective: float | None = None
    latency_bound: float | None = None
    repeatable: bool | None = None
    result_shape: bool = True
    alerts: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: _EMPTY)

    if TYPE_CHECKING:
        # The generated one takes the same; said once more because it also accepts lists, numbers and enum members.
        def __init__(  # noqa: PLR0913 - a tool has that many facts
            self,
            name: str,
            owner: str,
            risk: str = ...,
            version: str | int = ...,
            profiles: Iterable[str] = ...,
            *,
            description: str | None = ...,
            aliases: Iterable[str] = ...,
            retired: Iterable[str] = ...,
            objective: float | None = ...,
            latency_bound: float | None = ...,
            repeatable: bool | None = ...,
            result_shape: bool = ...,
            alerts: Mapping[str, Mapping[str, Any]] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "version", str(self.version))
        put(self, "risk", str(self.risk))
        for name in ("profiles", "aliases", "retired"):
            put(self, name, _tuple(getattr(self, name)))

    def __hash__(self) -> int:
        # Hot paths key their caches by tool; hashing a dozen fields each time would cost a microsecond.
        return hash(self.name)

    @property
    def counts_repeats(self) -> bool:
        """Whether an equal call made twice in one session is worth counting."""
        return self.risk in (signals.Risk.WRITE, signals.Risk.IRREVERSIBLE) and not self.repeatable


@dataclass(frozen=True, slots=True)
class Alias:
    """An old name that still works; a view on a tool, never written down by itself."""

    name: str
    tool: str
    owner: str


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server whose tools agents may use: pinned `version`, and the tools it is allowed to offer."""

    name: str
    owner: str
    version: str
    allow: tuple[str, ...] = ()

    if TYPE_CHECKING:

        def __init__(self, name: str, owner: str, version: str | int, allow: Iterable[str] = ...) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "version", str(self.version))
        object.__setattr__(self, "allow", _tuple(self.allow))


@dataclass(frozen=True, slots=True)
class Source:
    """What a sidecar reads: files, their format, and what their lines are about."""

    name: str
    files: tuple[str, ...]
    format: str = "auto"
    profile: str | None = None
    framework: str | None = None
    plugin: bool = False

    if TYPE_CHECKING:

        def __init__(
            self,
            name: str,
            files: Iterable[str],
            format: str = ...,  # noqa: A002 - the field's name
            profile: str | None = ...,
            framework: str | None = ...,
            *,
            plugin: bool = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "files", _tuple(self.files))


@dataclass(frozen=True, slots=True)
class Signature:
    """A user's own log signature: which lines tell of which moment."""

    moment: str
    pattern: str
    logger: str | None = None
    level: str | None = None


class Missing(NamedTuple):
    """
    Why a call reached no tool. `requested` is cleaned; `known` says that it is a name of the catalog.

    `is_counted` says that a log line told of the same drop before, and that it was counted then.
    """

    requested: str
    reason: signals.Reason
    known: bool
    owner: str
    nearest: str | None = None
    is_counted: bool = False


@dataclass(frozen=True, slots=True)
class HouseRules:
    """Rules of style with their levels; `levels` maps a rule (name_pattern, description, budget) to a Level."""

    name_pattern: str = NAME_PATTERN
    description_min_chars: int = DESCRIPTION_MIN_CHARS
    budget_chars: int | None = None
    levels: Mapping[str, Level] = field(default_factory=lambda: _EMPTY)

    def level(self, rule: str) -> Level:
        """The level of one house rule; every rule is an error unless said otherwise."""
        return Level(self.levels.get(rule, Level.ERROR))

    def relaxed(self) -> HouseRules:
        """The same rules with every error turned into a warning."""
        levels = {rule: Level.WARN if self.level(rule) is Level.ERROR else self.level(rule) for rule in HOUSE_RULES}
        return replace(self, levels=MappingProxyType(levels))


def field_names(noun: type) -> tuple[str, ...]:
    """The keys that a table of the catalog file may hold for *noun*, its name aside."""
    return tuple(each.name for each in fields(noun) if each.name != "name")
