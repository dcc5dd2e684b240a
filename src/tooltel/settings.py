"""
Settings of a process: one table of rows, read from arguments and from the environment.

Nothing here reads the environment by itself: who makes a Tooltel passes `os.environ`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self

from tooltel import signals
from tooltel.errors import SettingError
from tooltel.text import clean

PREFIX: Final = "TOOLTEL_"


class Row(NamedTuple):
    """One setting: its `name`, how a value is read, its default, and what it does in a sentence."""

    name: str
    read: Callable[[Any], Any]
    default: Any
    sentence: str

    @property
    def variable(self) -> str:
        """The environment variable."""
        return PREFIX + self.name.upper()


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off", ""):
        return False
    raise ValueError("is neither 1 nor 0")


def _count(value: object) -> int:
    try:
        number = int(str(value).strip())
    except ValueError:
        raise ValueError("is no whole number") from None
    if isinstance(value, bool) or number < 1:
        raise ValueError("must be 1 or more")
    return number


def _seconds(value: object) -> float:
    try:
        number = float(str(value).strip())
    except ValueError:
        raise ValueError("is no number of seconds") from None
    if not (isfinite(number) and number > 0):
        raise ValueError("must be a time above zero, in seconds")
    return number


def _key(value: object) -> str:
    # OpenTelemetry wants attribute names dotted, lower case and without spaces; backends split at the rest.
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}", value):
        raise ValueError("is no attribute name, which has letters, digits, dots, dashes and underscores")
    return value


def _one_of(*words: str) -> Callable[[Any], str]:
    def read(value: object) -> str:
        word = str(value).strip().lower()
        if word not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return word

    return read


# Kubernetes sets such variables in every pod of a namespace that has a Service called tooltel or tooltel-...:
# they are nobody's settings.
_OF_A_SERVICE: Final = (
    r"TOOLTEL_(?:[A-Z0-9_]+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?"
    r"|PORT(?:_[0-9]+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)"
)


def _row(read: Callable[[Any], Any], sentence: str, *, default: Any) -> Any:
    return field(default=default, metadata={"read": read, "sentence": sentence})


_TAKEN: Final = frozenset(signals.ATTRIBUTES) - {
    signals.OWNER,
    signals.VERSION,
    signals.RISK,
    signals.PROFILE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings in force, and the table of what there is; `ROWS` gives it to whoever writes it down."""

    disabled: bool = _row(_flag, "Give back tools unwrapped and record nothing.", default=False)
    attribute_owner: str = _row(_key, "Name of the span attribute and log key for the owner.", default=signals.OWNER)
    attribute_version: str = _row(
        _key, "Name of the span attribute and log key for the version.", default=signals.VERSION
    )
    attribute_risk: str = _row(_key, "Name of the span attribute and log key for the risk.", default=signals.RISK)
    attribute_profile: str = _row(
        _key, "Name of the span attribute and log key for the profile.", default=signals.PROFILE
    )
    log_calls: str = _row(
        _one_of("auto", "all", "failures", "off"),
        "Which calls get a log event: all, failures, off, or auto: good ones only where debug is logged.",
        default="auto",
    )
    exemplars: bool = _row(_flag, "Attach trace ids to histogram buckets; not in multiprocess mode.", default=False)
    record_exceptions: bool = _row(_flag, "Record a tool's exception with its traceback on the span.", default=False)
    repeat_window_seconds: float = _row(
        _seconds, "How long a call of a session is remembered as made.", default=86400.0
    )
    repeat_sessions: int = _row(_count, "Sessions whose calls are remembered.", default=10_000)
    repeat_calls: int = _row(_count, "Calls remembered per session.", default=256)
    capture_payloads: bool = _row(_flag, "Keep arguments and results on spans, redacted and bounded.", default=False)

    def __post_init__(self) -> None:
        for row in ROWS:
            object.__setattr__(self, row.name, _read(row, row.name, getattr(self, row.name)))
        keys = [getattr(self, row.name) for row in ROWS if row.read is _key]
        if twice := next((key for key in keys if keys.count(key) > 1 or key in _TAKEN), None):
            raise SettingError("attribute_*", f"{twice!r} names two attributes; each needs a name of its own")

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> Self:
        """
        Read the settings of *environ* (none: defaults only); *overrides* by name win over it.

        Raises SettingError for an unknown TOOLTEL_ variable, an unknown override, and a value that cannot be
        read. An override is meant for this process, so it wins even over a variable that cannot be read.
        """
        values: dict[str, Any] = {}
        by_variable = {row.variable: row for row in ROWS}
        for variable, text in (environ or {}).items():
            if not variable.startswith(PREFIX) or re.fullmatch(_OF_A_SERVICE, variable):
                continue
            row = by_variable.get(variable)
            if row is None:
                raise SettingError(clean(variable), _unknown(variable, by_variable))
            if row.name not in overrides:
                values[row.name] = _read(row, variable, text)
        for name, value in overrides.items():
            if name not in BY_NAME:
                raise SettingError(clean(name), _unknown(name, BY_NAME))
            values[name] = value
        return cls(**values)


ROWS: Final[tuple[Row, ...]] = tuple(
    Row(each.name, each.metadata["read"], each.default, each.metadata["sentence"]) for each in fields(Settings)
)
BY_NAME: Final[Mapping[str, Row]] = MappingProxyType({row.name: row for row in ROWS})


def _read(row: Row, place: str, value: object) -> Any:
    try:
        return row.read(value)
    except ValueError as error:
        raise SettingError(place, f"{clean(repr(value))} {error}") from None


def _unknown(name: str, known: Mapping[str, Row]) -> str:
    from difflib import get_close_matches

    # Without the prefix, which would make everything alike.
    places = {row.name: place for place, row in known.items()}
    near = get_close_matches(clean(name).removeprefix(PREFIX).lower(), places, n=1)
    hint = f"did you mean {places[near[0]]}?" if near else f"known are {', '.join(known)}"
    return f"there is no such setting; {hint}"
