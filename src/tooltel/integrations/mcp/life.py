"""One call, at one end of a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from tooltel.integrations.hooks import contained
from tooltel.integrations.mcp.answers import read_answer
from tooltel.integrations.mcp.endings import (
    conclude,
    conclude_error,
    faults_in,
    is_missing,
    is_missing_error,
    is_others_error,
)
from tooltel.integrations.mcp.raised import conclude_raised
from tooltel.signals import POLICY_MIDDLEWARE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tooltel.integrations.mcp.answers import Answer
    from tooltel.integrations.mcp.endings import Asked
    from tooltel.integrations.mcp.raised import Witness
    from tooltel.observed import Observed
    from tooltel.runtime import Tooltel

R = TypeVar("R")


class Life:
    """A call from its question to its answer; *witness* saw what a server's own code raised, where it is watched."""

    def __init__(self, tel: Tooltel, asked: Asked, observed: Observed, witness: Witness | None = None) -> None:
        self.tel = tel
        self._asked = asked
        self._observed = observed
        self._witness = witness

    @contained
    def ended(self, result: Any) -> None:
        """Record what the call came to."""
        self._end(result)

    def _end(self, result: object) -> None:
        answer = read_answer(result)
        if is_missing(self._asked.name, answer) and not self._is_a_tools_own_word():
            self._missed()
        else:
            self._settle(lambda call: self._conclude(call, answer))

    @contained
    def failed(self, error: BaseException) -> None:
        """Record what the call was ended by."""
        if is_missing_error(self._asked.name, error) and not self._is_a_tools_own_word():
            self._missed()
        elif self._witness is not None and not self._witness.reached and is_others_error(error):
            self._settle(lambda call: call.refuse(POLICY_MIDDLEWARE))
        else:
            self._settle(lambda call: conclude_error(call, self._asked, error))

    def _conclude(self, call: Observed, answer: Answer) -> None:
        witness = self._witness
        if witness is None or not answer.is_error:
            conclude(call, self._asked, answer)
        elif witness.error is not None:
            conclude_raised(call, self._asked, witness.error)
        elif witness.reached or faults_in(self._asked, answer.text or "") is not None:
            conclude(call, self._asked, answer)
        else:
            call.refuse(POLICY_MIDDLEWARE)

    def _is_a_tools_own_word(self) -> bool:
        """Whether it was a tool's own function that raised the words in which servers say that there is none."""
        seen = self._witness.error if self._witness is not None else None
        return seen is not None and not is_missing_error(self._asked.name, seen)

    def _settle(self, end: Callable[[Observed], None]) -> None:
        try:
            end(self._observed)
        finally:
            if self._observed.is_open:  # what came of it could not be read; it has ended all the same
                self._observed.finish(None)

    def _missed(self) -> None:
        self.tel.not_found(self._asked.name, call=self._observed)


async def live(life: Life | None, send: Callable[[str], Awaitable[R]], name: str, *, new_name: str | None) -> R:
    """
    Let *send* make the call under its *name*, and record what comes of it.

    Under its *new_name*, where there is one, it is made if the other end does not know the old one: nothing has run
    then.
    """
    try:
        result = await _send(send, name, new_name)
    except BaseException as error:
        if life is not None:
            life.failed(error)
        raise
    if life is not None:
        life.ended(result)
    return result


async def _send(send: Callable[[str], Awaitable[R]], name: str, new_name: str | None) -> R:
    if new_name is None:
        return await send(name)
    try:
        result = await send(name)
    except Exception as error:
        if not is_missing_error(name, error):
            raise
    else:
        if not is_missing(name, read_answer(result)):
            return result
    return await send(new_name)
