"""How a call ended, as its answer or its error tells it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import ValidationError

from tooltel.boundary import find_faults
from tooltel.integrations.mcp.answers import MCPError, judgeable
from tooltel.integrations.validation import faults_of
from tooltel.outcome import MAX_FAULTS, Fault
from tooltel.signals import ERROR_OUTPUT, ERROR_TIMEOUT, ERROR_TOOL, Status
from tooltel.text import clean

if TYPE_CHECKING:
    from tooltel.integrations.mcp.answers import Answer
    from tooltel.observed import Observed

_INVALID_PARAMS: Final = -32602
_ASK_ELSEWHERE: Final = -32042  # the person must visit a page first; then the call is made again
_TIMED_OUT: Final = frozenset({408, -32001})  # 1.x, and 2.x with other SDKs
_READ_AT_MOST: Final = 16_384  # characters of an error's text

_SDKS_OWN: Final = frozenset({-32700, -32600, -32601, _INVALID_PARAMS, -32603, -32020, -32021, -32022, _ASK_ELSEWHERE})

# What servers say of a name that they do not know: Python SDKs, fastmcp (the name's repr), TypeScript's.
_CODE: Final = "MCP error -32602: "
_MISSING: Final = ("Unknown tool: {}", "Tool {} not found", "Tool {} disabled")
# Less is asked of a JSON-RPC error whose code says that the request is wrong.
_SAYS_MISSING: Final = re.compile(r"unknown tool|not found|no such tool|disabled", re.IGNORECASE)

# What they say of arguments: pydantic's report of the model that a function's arguments make, or JSON Schema's.
_PYDANTIC: Final = re.compile(r"\d+ validation errors? for (?:call\[[^\n]*\]|\w+Arguments)\n")
_FAULT: Final = re.compile(r"^(\S[^\n]*)\n  (\S[^\n]*?) \[type=", re.MULTILINE)
_SCHEMA: Final = ("Input validation error: ", "Invalid arguments for tool ")

# What servers and clients say of a result that is not as the tool declared.
_OUTPUT: Final = "Output validation error: "
_OUTPUT_AT_CLIENT: Final = (
    "Invalid structured content returned by tool {}",
    "Invalid schema for tool {}",
    "Tool {} has an output schema but did not return structured content",
)
_OUTPUT_MODEL: Final = re.compile(r"\w+Output")


class Asked(NamedTuple):
    """What was asked for: a name, with arguments, of the schema that was last listed for it."""

    name: str
    arguments: Mapping[str, Any]
    schema: Mapping[str, Any] | None = None


def is_missing(name: str, answer: Answer) -> bool:
    """Whether *answer* says that there is no tool of this name."""
    return answer.is_error and answer.text is not None and _says_missing(name, answer.text)


def is_missing_error(name: str, error: BaseException) -> bool:
    """Whether *error* says that there is no tool of this name."""
    if isinstance(error, MCPError) and _code(error) == _INVALID_PARAMS:
        said = str(error)
        return name in said and _SAYS_MISSING.search(said.replace(name, "")) is not None
    return isinstance(error, Exception) and _says_missing(name, str(error))


def _says_missing(name: str, text: str) -> bool:
    said = text.removeprefix(_CODE)
    return any(said in (form.format(name), form.format(repr(name))) for form in _MISSING)


def is_others_error(error: BaseException) -> bool:
    """Whether *error* is one of the protocol's that no SDK raises of its own accord: somebody denies the call."""
    code = _code(error) if isinstance(error, MCPError) else None
    return code is not None and code not in _SDKS_OWN and code not in _TIMED_OUT


def conclude(call: Observed, asked: Asked, answer: Answer) -> None:
    """End *call*, which reached a tool, with what came back for it."""
    if answer.is_interim:
        call.put_off()
    elif not answer.is_error:
        call.finish(judgeable(answer))
    elif (faults := faults_in(asked, answer.text or "")) is not None:
        call.reject(faults)
    elif (answer.text or "").startswith(_OUTPUT):
        call.conclude(Status.ERROR, ERROR_OUTPUT)
    else:
        call.conclude(Status.ERROR, ERROR_TOOL)  # a refusal, a crash: no field of an answer tells them apart


def conclude_error(call: Observed, asked: Asked, error: BaseException) -> None:
    """End *call*, which may have reached a tool, with what was raised in its stead."""
    if isinstance(error, MCPError):
        _conclude_protocol_error(call, asked, error)
    elif isinstance(error, ValidationError):  # of the request: the SDKs answer it with "invalid params"
        call.reject(faults_of(error))
    elif type(error) is RuntimeError and str(error).startswith(_forms(_OUTPUT_AT_CLIENT, asked.name)):
        call.conclude(Status.ERROR, ERROR_OUTPUT)
    else:
        call.fail(error)


def conclude_cause(call: Observed, cause: BaseException) -> None:
    """End *call* with what its function raised, or what pydantic said of its arguments or its result."""
    if not isinstance(cause, ValidationError):
        call.fail(cause)
    elif cause.title.endswith("Arguments"):
        call.reject(faults_of(cause))
    elif _OUTPUT_MODEL.fullmatch(cause.title):
        call.conclude(Status.ERROR, ERROR_OUTPUT)
    else:
        call.fail(cause)


def _conclude_protocol_error(call: Observed, asked: Asked, error: Exception) -> None:
    code = _code(error)
    if code in _TIMED_OUT:
        call.conclude(Status.TIMEOUT, ERROR_TIMEOUT)
    elif code == _ASK_ELSEWHERE:
        call.put_off()
    elif code == _INVALID_PARAMS:
        call.reject(faults_in(asked, str(error)) or ())
    else:
        call.conclude(Status.ERROR, str(code))  # as the SDKs' own spans have it


def faults_in(asked: Asked, text: str) -> Sequence[Fault] | None:
    """What the *text* of an error says of the arguments; None where it is about something else."""
    said = text[:_READ_AT_MOST].removeprefix(_CODE).removeprefix(f"Error executing tool {asked.name}: ")
    if _PYDANTIC.match(said):
        return [Fault(clean(at), clean(problem)) for at, problem in _FAULT.findall(said)[:MAX_FAULTS]]
    if said.startswith(_SCHEMA):
        return find_faults(asked.arguments, asked.schema)  # the text names no argument in any steady place
    return None


def _code(error: Exception) -> int | None:
    code = getattr(getattr(error, "error", None), "code", None)
    return code if isinstance(code, int) else None


def _forms(forms: Sequence[str], name: str) -> tuple[str, ...]:
    return tuple(form.format(name) for form in forms)
