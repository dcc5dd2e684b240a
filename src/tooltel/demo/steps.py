"""What a session is made of: steps, each with what must come of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from tooltel.signals import Reason, RejectionKind, RejectionSource, Status

if TYPE_CHECKING:
    from collections.abc import Mapping


class Manner(StrEnum):
    """How a step is carried out."""

    CALL = "call"  # and a stream is read to its end
    ABANDON = "abandon"  # read one item of a stream, then close it
    CANCEL = "cancel"  # give up while it runs
    DROP = "drop"  # ask for a name that is no tool


@dataclass(frozen=True, slots=True)
class Fate:
    """
    What must come of a step: written by hand, never asked of tooltel.

    `fields` are the labels of the arguments found wrong; `items` the items of a batch by status; `inner` the
    tools that this one calls; `requested` the label under which a dropped name is counted.
    """

    status: Status = Status.OK
    kind: RejectionKind | None = None
    source: RejectionSource | None = None
    fields: tuple[str, ...] = ()
    policy: str | None = None
    items: Mapping[str, int] = field(default_factory=dict)
    repeated: bool = False
    inner: tuple[str, ...] = ()
    reason: Reason | None = None
    requested: str = ""


GOOD: Final = Fate()


@dataclass(frozen=True, slots=True)
class Step:
    """One try of the model: a name as it wrote it, arguments, and the fate that the script has in store."""

    name: object
    arguments: Mapping[str, Any] = field(default_factory=dict)
    fate: Fate = GOOD
    manner: Manner = Manner.CALL


@dataclass(frozen=True, slots=True)
class Beat:
    """Steps that a model asks for in one breath; they run side by side."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Visit:
    """One session: `number` is its place in the shift, `plot` the name of its story."""

    number: int
    profile: str
    plot: str
    beats: tuple[Beat, ...]

    @property
    def id(self) -> str:
        """The conversation's id."""
        return f"s-{self.number:05d}"

    @property
    def agent(self) -> str:
        """The agent that leads the conversation."""
        return f"{self.profile}_agent"


def call(name: str, fate: Fate = GOOD, /, **arguments: Any) -> Step:
    """An ordinary call."""
    return Step(name, MappingProxyType(arguments), fate)


def drop(name: object, reason: Reason, requested: str) -> Step:
    """A call to a name that is no tool of the profile."""
    fate = Fate(Status.NOT_FOUND, reason=reason, requested=requested)
    return Step(name, fate=fate, manner=Manner.DROP)
