"""How a call ended, as the exceptions of anthropic's tools tell it."""

from __future__ import annotations

from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Final

from anthropic.lib import tools
from pydantic import ValidationError

from tooltel.integrations.validation import faults_of
from tooltel.outcome import Fault
from tooltel.signals import ERROR_TIMEOUT, ERROR_TOOL, RejectionKind, RejectionSource, Status
from tooltel.text import clean

if TYPE_CHECKING:
    from tooltel.observed import Observed

# By which a tool tells the model what it does not want (since 0.84); the SDK's own MCP tools raise it for any error.
_ToolError: Final[Any] = getattr(tools, "ToolError", ())
_MCP: Final = "anthropic.lib.tools.mcp"


def conclude_error(call: Observed, given: object, error: BaseException) -> None:
    """End *call*, made with the arguments *given*, with what its tool raised; the runner tells the model of it."""
    cause = error.__cause__
    if isinstance(error, TypeError) and not isinstance(given, dict):
        call.reject([Fault("", "is no object", "object")])
    elif isinstance(error, _ToolError):
        _conclude_told(call, error)
    elif type(error) is ValueError and isinstance(cause, ValidationError):
        # The tool object says "Invalid arguments" of any ValidationError, wherever it was raised.
        if _is_of_arguments(cause):
            call.reject(faults_of(cause))
        else:
            call.fail(cause)
    else:
        call.fail(error)


def _conclude_told(call: Observed, error: BaseException) -> None:
    """End *call* with an error that its tool raised for the model to read."""
    if isinstance(error.__context__, TimeoutError):
        call.conclude(Status.TIMEOUT, ERROR_TIMEOUT)
    elif _modules(error)[-1] == _MCP:
        call.conclude(Status.ERROR, ERROR_TOOL)
    else:
        call.reject([Fault("", clean(error))], kind=RejectionKind.DOMAIN, source=RejectionSource.TOOL)


def _is_of_arguments(error: ValidationError) -> bool:
    """Whether *error* was raised before the tool's own code ran: below the tool object, all is pydantic's."""
    return all(module.startswith("pydantic.") for module in _modules(error)[1:])


def _modules(error: BaseException) -> list[str]:
    """The modules that *error* came through, from where it was caught to where it was raised."""
    return [str(frame.f_globals.get("__name__", "")) for frame, _ in walk_tb(error.__traceback__)]
