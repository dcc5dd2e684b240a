"""What the sidecar asks of the signatures; `tooltel.match.Judge` is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tooltel.match import Record
    from tooltel.outcome import Outcome


class Matched(Protocol):
    """A record that a signature knows: which one, and what became of the call."""

    @property
    def rule(self) -> Any:
        """The signature, which has an `id`."""

    @property
    def outcome(self) -> Outcome:
        """What became of the call."""


class Judging(Protocol):
    """Tells what a record says about a call."""

    @property
    def literals(self) -> tuple[bytes, ...]:
        """Strings of which every record that matches has one on its line."""

    def judge(self, record: Record, /) -> Matched | None:
        """The match, or None for a record that tells of no call."""
