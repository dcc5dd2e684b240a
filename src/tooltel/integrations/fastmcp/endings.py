"""How a call ended, as the exceptions and results of a fastmcp server tell it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from fastmcp import exceptions
from fastmcp.exceptions import ToolError
from pydantic import ValidationError

from tooltel.integrations.hooks import contained
from tooltel.integrations.mcp.answers import MCPError
from tooltel.integrations.mcp.endings import conclude_error
from tooltel.integrations.mcp.life import Life
from tooltel.integrations.validation import faults_of
from tooltel.signals import ERROR_TIMEOUT, POLICY_AUTHORIZATION, RejectionKind, RejectionSource, Status

if TYPE_CHECKING:
    from tooltel.observed import Observed

# Each is there in some versions only.
_MISSING: Final = tuple(
    getattr(exceptions, name) for name in ("NotFoundError", "DisabledError") if hasattr(exceptions, name)
)
_DENIED: Final = tuple(getattr(exceptions, name) for name in ("AuthorizationError",) if hasattr(exceptions, name))

# What the server makes of an exception that a tool did not mean for the model.
_CRASHED: Final = re.compile(r"Error calling tool ['\"]")
_RATE_LIMITED: Final = "Rate limited by upstream API, please retry later"
_UPSTREAM_LATE: Final = "Upstream request timed out, please retry"
_TIMED_OUT: Final = "execution timed out after"  # in 3.x and later, a tool may have a time limit
_ITS_OWN: Final = "fastmcp."
_ARGUMENTS: Final = "call["  # how pydantic calls the arguments of a function, until 3.x gave them a class of their own


class FastMCPLife(Life):
    """A call at a fastmcp server: what is raised says more there than its answer."""

    @contained
    def ended(self, result: Any) -> None:
        """Record what the call came to."""
        if hasattr(result, "input_required"):  # 4.x: a question to the client, who will call again
            self._settle(lambda call: call.put_off())
        else:
            self._end(result)

    @contained
    def failed(self, error: BaseException) -> None:
        """Record what the call was ended by."""
        if isinstance(error, _MISSING):
            self._missed()
        else:
            self._settle(lambda call: self._fail(call, error))

    def _fail(self, call: Observed, error: BaseException) -> None:
        if isinstance(error, exceptions.ValidationError):
            _reject(call, error.__cause__)
        elif isinstance(error, _DENIED):
            call.refuse(POLICY_AUTHORIZATION)
        elif isinstance(error, ToolError):
            self._fail_by_tool(call, error)
        elif isinstance(error, ValidationError) and not error.title.startswith(_ARGUMENTS):
            call.fail(error)  # of a model of the tool's own
        else:
            conclude_error(call, self._asked, error)

    def _fail_by_tool(self, call: Observed, error: ToolError) -> None:
        said, cause = str(error), _unwrapped(error.__cause__)
        if cause is None or not (_CRASHED.match(said) or said in (_RATE_LIMITED, _UPSTREAM_LATE)):
            _reject(call, None)
        elif said == _UPSTREAM_LATE or (isinstance(cause, MCPError) and _TIMED_OUT in str(cause)):
            call.conclude(Status.TIMEOUT, ERROR_TIMEOUT)
        elif isinstance(cause, MCPError):
            conclude_error(call, self._asked, cause)
        elif isinstance(cause, exceptions.ValidationError):  # early 2.14 wraps the tool's own word, too
            _reject(call, cause.__cause__)
        else:
            call.fail(cause)


def _unwrapped(cause: BaseException | None) -> BaseException | None:
    """What a function raised, out of what late versions put it in until they know what it was."""
    while cause is not None and type(cause).__name__.startswith("_") and type(cause).__module__.startswith(_ITS_OWN):
        cause = cause.__cause__
    return cause


def _reject(call: Observed, cause: BaseException | None) -> None:
    if isinstance(cause, ValidationError):
        call.reject(faults_of(cause))
    else:  # the tool said so itself
        call.reject((), kind=RejectionKind.DOMAIN, source=RejectionSource.TOOL)
