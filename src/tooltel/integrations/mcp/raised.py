"""What a server's own code raised for a call, before the SDK makes an answer of it that says less."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from mcp.shared import exceptions
from pydantic import ValidationError

from tooltel.call import current_call
from tooltel.integrations.mcp.endings import conclude_cause, conclude_error
from tooltel.integrations.validation import faults_of
from tooltel.signals import RejectionKind, RejectionSource

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tooltel.call import Call
    from tooltel.integrations.mcp.endings import Asked
    from tooltel.observed import Observed

# 2.0 renamed the server's package; later 2.x tell crashes from what a tool raises on purpose by the class.
_RENAMED: Final = hasattr(exceptions, "MCPError")
_exceptions: Final = import_module("mcp.server.mcpserver.exceptions" if _RENAMED else "mcp.server.fastmcp.exceptions")
ToolError: Final[type[Exception]] = _exceptions.ToolError
_ON_PURPOSE: Final[tuple[type[Exception], ...]] = (ToolError, _exceptions.ResourceError)
_CRASHES: Final[tuple[type[Exception], ...]] = tuple(
    getattr(_exceptions, name)
    for name in ("UnexpectedToolError", "UnexpectedResourceError")
    if hasattr(_exceptions, name)
)


class Witness:
    """Whether a call reached the server's own code, and what that raised."""

    def __init__(self, *, reached: bool) -> None:
        self.reached = reached
        self.error: Exception | None = None


class Witnesses:
    """
    The witnesses of the calls that are being made, each for the first entry into the server's code alone.

    Where *others_may_answer*, one that was not reached says that middleware answered in the tool's place.
    """

    def __init__(self, *, others_may_answer: bool) -> None:
        self._others = others_may_answer
        self._of: WeakKeyDictionary[Call, Witness] = WeakKeyDictionary()

    def watch(self, call: Observed) -> Witness:
        """Give the witness of *call*, which is the current one."""
        self._of[call] = witness = Witness(reached=not self._others)
        return witness

    async def see(self, made: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
        """Await what the server's code makes of the current call, and let its witness see what it raises."""
        call = current_call()
        # Once: what a tool calls while it runs, on this very server, is no call of the model's.
        witness = self._of.pop(call, None) if call is not None else None
        if witness is None:
            return await made(*args, **kwargs)
        witness.reached = True
        try:
            return await made(*args, **kwargs)
        except Exception as error:
            witness.error = error
            raise


def conclude_raised(call: Observed, asked: Asked, error: Exception) -> None:
    """End *call*, which reached a tool, with what the server's code raised for it."""
    cause = error.__cause__
    if not isinstance(error, ToolError):
        conclude_error(call, asked, error)
    elif isinstance(error, _CRASHES):
        while isinstance(cause, _CRASHES):  # of a tool or a resource that the tool asked for
            cause = cause.__cause__
        _crashed(call, cause or error)
    elif cause is None or isinstance(cause, _ON_PURPOSE):
        call.reject((), kind=RejectionKind.DOMAIN, source=RejectionSource.TOOL)
    elif _CRASHES and isinstance(cause, ValidationError):
        call.reject(faults_of(cause))
    else:
        conclude_cause(call, cause)


def _crashed(call: Observed, cause: BaseException) -> None:
    # Where crashes have a class, rejected arguments have another: a report of pydantic's is about anything but those.
    if isinstance(cause, ValidationError) and cause.title.endswith("Arguments"):
        call.fail(cause)
    else:
        conclude_cause(call, cause)
