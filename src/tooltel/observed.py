"""Calls that a framework runs and a plug-in tells of: their start, what came of them, their end."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tooltel.call import Call, Services, _current, current_call
from tooltel.outcome import MAX_FAULTS, OK, Fault, Outcome, Rejection, Verdict, judge_exception
from tooltel.recording import FanOut
from tooltel.repeats import Repeats
from tooltel.signals import (
    ERROR_CANCELLED,
    ERROR_INVALID,
    ERROR_NOT_FOUND,
    ERROR_OUTPUT,
    ERROR_REFUSED,
    ERROR_TOOL,
    OTHER,
    Component,
    RejectionKind,
    RejectionSource,
    Status,
)
from tooltel.text import clean

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from tooltel.call import Binding, Session
    from tooltel.catalog import Missing

R = TypeVar("R")

# What only the one who runs the tool can know; the tool itself just saw that it was called off.
_NO_MEMORY: Final = Repeats(sessions=0)
_IN_RESULT: Final = frozenset({ERROR_TOOL, ERROR_OUTPUT})
_FROM_OUTSIDE: Final = frozenset({Status.TIMEOUT, Status.REFUSED, Status.INVALID_ARGUMENTS})


class Observed(Call):
    """
    A life that somebody else runs. Once begun, exactly one of the verbs below ends it.

    With a *span* of the framework's, that span is tagged and left for its owner to end; without one, a span is made.
    Where the tool itself is wrapped too, the wrapper tells this call what it saw instead of counting a second one.
    """

    observed = True
    _absorbed: Outcome | None = None
    _of: Session | None = None

    def __init__(self, *, call_id: str | None = None, span: Span | None = None, session: Session | None = None) -> None:
        if span is not None:
            self.span = span
            self.borrowed = True
        if call_id is not None:
            self.call_id = call_id
        if session is not None:
            self._of = session

    def begin(self, binding: Binding, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None) -> None:
        """Open the life, inside the session that was given, and enter its only step."""
        outer, session = current_call(), self._of
        if session is None or (outer is not None and outer.observed and outer.is_also(binding)):
            super().begin(binding, args, kwargs)
            return
        before = _current.set(session)
        super().begin(binding, args, kwargs)
        self._token = before  # to leave the call is to leave that session, too
        if outer is not None:
            self.parent = outer.tool.name

    def absorbing(self, services: Services, *, borrowed: bool) -> Services:
        """The services of a wrapper inside this call: it records nowhere but here, and on a span of a framework's."""
        recorders = services.fan_out.recorders if borrowed else ()
        spans = tuple(recorder for recorder in recorders if recorder[0] is Component.SPANS)
        inner = Services(
            clock=services.clock,
            guard=services.guard,
            fan_out=FanOut(services.guard, ((Component.RECORDER, self._absorb), *spans)),
            openers=tuple(opener for opener in services.openers if borrowed and opener[0] is Component.SPANS),
            repeats=_NO_MEMORY,  # this call takes note of its arguments itself
            session=services.session,
        )
        inner.keys = services.keys
        return inner

    def _absorb(self, outcome: Outcome) -> None:
        self._absorbed = outcome

    # --- the ends ---

    def finish(self, result: R) -> R:
        """The framework got *result* from the tool: it is judged by its shape, and given back untouched."""
        if self._absorbed is None and self.is_open:
            return super().finish(result)  # the short way
        self.leave()
        self.returned(result)
        self.settle()
        return result

    def reject(
        self,
        faults: Sequence[Fault] = (),
        *,
        kind: RejectionKind = RejectionKind.STRUCTURAL,
        source: RejectionSource = RejectionSource.FRAMEWORK,
    ) -> None:
        """The arguments were rejected; *faults* names those that are known to be wrong."""
        rejection = Rejection(kind, source, tuple(faults[:MAX_FAULTS]))
        self._end(Verdict(Status.INVALID_ARGUMENTS, ERROR_INVALID, rejections=(rejection,)))

    def refuse(self, policy: str) -> None:
        """A policy of the framework's (a guardrail, an approval) kept the call from happening."""
        self._end(Verdict(Status.REFUSED, ERROR_REFUSED, policy=clean(policy)))

    def conclude(self, status: Status, error_type: str = "") -> None:
        """The framework says how it ended, and has neither a result nor an exception to show."""
        unsaid = OTHER if status is Status.ERROR else ""
        self._end(Verdict(status, clean(error_type) or unsaid))

    def put_off(self) -> None:
        """The framework keeps the call for later (an answer is awaited), and will then make it anew: cancelled."""
        self._absorbed = None  # whatever the tool raised to say so, it did not fail
        self.conclude(Status.CANCELLED, ERROR_CANCELLED)

    def missed(self, missing: Missing) -> Outcome:
        """The framework found no such tool after all: no call, but a drop, which *missing* explains."""
        if self.is_open:
            self.leave()
        return self._drop(missing)

    def _drop(self, missing: Missing) -> Outcome:
        outcome = Outcome(
            Status.NOT_FOUND, None, self.session.origin, error_type=ERROR_NOT_FOUND, parent=self.parent,
            call_id=self.call_id, missing=missing, span=self.span, mark=self.mark, borrowed=self.borrowed,
        )  # fmt: skip
        if self.is_open:
            self.is_open = False
            return self.services.publish_drop(outcome)
        return outcome

    def _end(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self.leave()
        self.settle()

    def settle(
        self, error: BaseException | None = None, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> None:
        """End the life, once; what a wrapper inside saw weighs more than what the framework made of it."""
        seen = self._absorbed
        if seen is not None and self.is_open:
            if seen.missing is not None:  # one inside, at the other end of a connection, looked for it in vain
                self._drop(seen.missing)
                return
            said = self._verdict if error is None else judge_exception(error)
            if _is_known_inside(said, seen):
                self._verdict = Verdict(seen.status, seen.error_type, seen.rejections, seen.policy, seen.items)
                error = None
        super().settle(error, args, kwargs)

    def __del__(self) -> None:
        # A run that was torn down tells nobody how its calls ended.
        if self.is_open and hasattr(self, "binding") and not sys.is_finalizing():
            try:
                self.settle(GeneratorExit())
            except Exception as error:  # noqa: BLE001 - nobody is there to whom it could be raised
                self.services.guard.contain(Component.CALL, error)


def _is_known_inside(said: Verdict, seen: Outcome) -> bool:
    """Whether the wrapper inside, which has *seen* the tool, knows better than the framework, which has *said* this."""
    if said.status in _FROM_OUTSIDE:
        return False
    if seen.status is Status.OK:  # the framework may read an error in what the tool gave, by a rule of its own
        return said is not OK and said.error_type not in _IN_RESULT
    return True
