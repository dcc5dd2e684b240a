"""How a call ended, as pydantic-ai's exceptions and messages tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError
from pydantic_ai import exceptions
from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    SkipToolExecution,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ToolReturn

from tooltel.integrations.validation import faults_of
from tooltel.outcome import Fault
from tooltel.signals import (
    ERROR_CANCELLED,
    ERROR_TIMEOUT,
    POLICY_CONFIRMATION,
    RejectionKind,
    RejectionSource,
    Status,
)
from tooltel.text import clean

if TYPE_CHECKING:
    from tooltel.observed import Observed


def _kinds(*names: str) -> tuple[type[BaseException], ...]:
    return tuple(getattr(exceptions, name) for name in names if hasattr(exceptions, name))


# Each is there in some versions only.
_FAILED: Final = _kinds("ToolFailedError")  # 2.x: what a tool's ToolFailed becomes
_CALLED_OFF: Final = _kinds("RunCancelled")  # late 2.x: an agent inside the tool called itself off
_RETRIED: Final = "retried"
_DENIED: Final = "denied"
_UNKNOWN_NAME: Final = "Unknown tool name: "  # begins a retry prompt, where no message tells a cause

VALIDATION: Final = "validation_error"
DOMAIN: Final = "model_retry"
MISSING: Final = frozenset({"unknown_tool", "unavailable_tool"})
DENIED: Final = _DENIED


def conclude(call: Observed, result: Any) -> None:
    """End *call* with what the framework got for it."""
    call.finish(result.return_value if isinstance(result, ToolReturn) else result)


def conclude_error(call: Observed, name: str, error: BaseException) -> None:
    """End *call*, made under *name*, with what was raised while it ran, which is often no error."""
    retry = _retry_behind(error, name)
    if isinstance(error, SkipToolExecution):
        conclude(call, error.result)
    elif isinstance(error, (CallDeferred, ApprovalRequired)):
        call.put_off()
    elif isinstance(error, _CALLED_OFF):
        call.conclude(Status.CANCELLED, ERROR_CANCELLED)
    elif retry is not None:
        conclude_retry(call, retry)
    elif isinstance(error, _FAILED) and error.__cause__ is not None:
        call.fail(error.__cause__)
    else:
        call.fail(error)


def conclude_retry(call: Observed, retry: ModelRetry) -> None:
    """End *call* with the tool's wish to be called otherwise: its own rejection, unless time ran out behind it."""
    if isinstance(retry.__context__, TimeoutError):  # also the framework's own limit (`Tool(timeout=...)`)
        call.conclude(Status.TIMEOUT, ERROR_TIMEOUT)
    else:
        reject_domain(call, retry.message)


def conclude_rejection(call: Observed, error: ValidationError | ModelRetry) -> None:
    """End *call* with the verdict on its arguments: the schema's, or that of the tool's own validator."""
    if isinstance(error, ValidationError):
        call.reject(faults_of(error))
    else:
        conclude_retry(call, error)


def reject_domain(call: Observed, message: object) -> None:
    """End *call* with the tool's own rejection, for the reason *message*."""
    call.reject([Fault("", clean(message))], kind=RejectionKind.DOMAIN, source=RejectionSource.TOOL)


def conclude_cause(call: Observed, cause: str, content: object) -> None:
    """End *call*, which no hook told of, with what the message says that answers it (see `cause_of`)."""
    if cause == DENIED:
        call.refuse(POLICY_CONFIRMATION)
    elif cause == VALIDATION:
        call.reject()
    else:
        reject_domain(call, content)


def cause_of(part: Any) -> str | None:
    """Why *part* of a message answers its call with anything but a result of the tool; None where it does not."""
    if part.part_kind == "tool-return":
        if part.outcome == _DENIED:
            return DENIED
        if part.outcome == _RETRIED and part.retry is not None:
            return str(part.retry.cause)
    elif part.part_kind == "retry-prompt" and part.tool_name is not None:
        if not isinstance(part.content, str):
            return VALIDATION
        return "unknown_tool" if part.content.startswith(_UNKNOWN_NAME) else DOMAIN
    return None


def _retry_behind(error: BaseException, name: str) -> ModelRetry | None:
    """The ModelRetry that *error* was made of by the framework, not by a run of another agent inside the tool."""
    if isinstance(error, ModelRetry):
        return error
    if isinstance(error.__cause__, ModelRetry):
        if isinstance(error, exceptions.ToolRetryError):
            return error.__cause__
        if isinstance(error, UnexpectedModelBehavior) and error.message.startswith(
            f"Tool {name!r} exceeded max retries"
        ):
            return error.__cause__
    return None
