"""How a call ended, as far as langchain-core's tools tell: by an exception, or by a message that hides one."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from langchain_core.messages import ToolMessage

from tooltel.integrations.langchain_core.schemas import faults_of, hidden_fields, misfits
from tooltel.misfits import find_misfits, was_raised_by_calling
from tooltel.signals import (
    ERROR_TOOL,
    POLICY_CONFIRMATION,
    POLICY_MIDDLEWARE,
    RejectionKind,
    RejectionSource,
    Status,
)
from tooltel.text import clean

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from tooltel.integrations.langchain_core.witness import Witness
    from tooltel.observed import Observed
    from tooltel.outcome import Fault

_ROOM_TO_JUDGE: Final = 65_536  # characters of a result that are read as JSON; a longer one costs more than it tells
_SHAPES: Final = re.compile('"(?:status|replayed|isError|is_error)"')
_FAILED: Final = "error"


class Asked(NamedTuple):
    """What the model asked for: a tool (None: not known here), with arguments."""

    tool: BaseTool | None
    arguments: Mapping[str, Any]


class Endings:
    """
    Ends calls. *domain* are the exceptions by which a tool tells the model that it does not want a call.

    For most tools that is ToolException, which is made for the model to read. Where it stands for crashes, too, it is
    none.
    """

    def __init__(self, domain: tuple[type[Exception], ...]) -> None:
        self._domain = domain

    def by_error(self, call: Observed, asked: Asked, error: BaseException, *, rejected: bool) -> None:
        """End *call* with what was raised; *rejected*: before the tool's own code was reached."""
        if is_put_off(error):
            call.put_off()  # it waits for somebody, and runs anew after that
        elif _is_of(error, "ParentCommand"):
            call.finish(None)  # a graph inside the tool handed over to the one around it
        elif rejected and (faults := _faults(error, asked.tool)):
            call.reject(faults)
        elif isinstance(error, self._domain):
            _reject_in_domain(call)
        elif isinstance(error, TypeError) and (found := _uncallable(error, asked)):
            call.reject(found)
        else:
            call.fail(error)

    def by_output(self, call: Observed, asked: Asked, output: object, witness: Witness) -> None:
        """End *call* with what a tool gave where it was run by hand: a message, or a result as it is."""
        if isinstance(output, ToolMessage):
            self.by_result(call, asked, output, witness)
        else:
            call.finish(output)

    def by_result(self, call: Observed, asked: Asked, result: object, witness: Witness) -> None:
        """End *call* with what the framework got for it."""
        message = result if isinstance(result, ToolMessage) else answer(result, call.call_id)
        if witness.error is not None:  # whatever the message makes of it
            self.by_error(call, asked, witness.error, rejected=witness.rejected)
        elif message is None:
            call.finish(None)
        elif message.status != _FAILED:
            call.finish(_judgeable(message.content))
        elif not witness.started:
            call.refuse(POLICY_CONFIRMATION if is_disapproved(message) else POLICY_MIDDLEWARE)
        else:
            self._by_silence(call, asked, message)

    def _by_silence(self, call: Observed, asked: Asked, message: ToolMessage) -> None:
        """End a call whose tool made a message of its exception, as it was told to; or of nothing."""
        tool = asked.tool
        if tool is not None and tool.handle_validation_error and (faults := misfits(tool, asked.arguments)):
            call.reject(faults)
        elif tool is not None and tool.handle_tool_error and self._domain:
            _reject_in_domain(call)
        elif isinstance(judged := _judgeable(message.content), Mapping):
            call.finish(judged)
        else:
            call.conclude(Status.ERROR, ERROR_TOOL)


def answer(result: object, call_id: str | None) -> ToolMessage | None:
    """The message that answers call *call_id* in a Command, or in a list of messages and Commands."""
    if isinstance(result, list):
        held: Sequence[object] = [each if isinstance(each, ToolMessage) else answer(each, call_id) for each in result]
    else:
        update = getattr(result, "update", None)
        messages = update.get("messages") if isinstance(update, Mapping) else None
        held = messages if isinstance(messages, (list, tuple)) else ()
    return next((each for each in held if isinstance(each, ToolMessage) and _answers(each, call_id)), None)


def is_fine(result: object) -> bool:
    """Whether *result* answers a call with anything but an error."""
    message = result if isinstance(result, ToolMessage) else answer(result, None)
    return message is not None and message.status != _FAILED


def is_disapproved(message: ToolMessage) -> bool:
    """Whether *message* says that a person was asked, and said no; langchain tells since 1.5."""
    return bool(message.status == _FAILED) and message.additional_kwargs.get("lc_source") == "hitl_interrupt_decision"


def _answers(message: ToolMessage, call_id: str | None) -> bool:
    return call_id is None or clean(message.tool_call_id) == call_id


def _reject_in_domain(call: Observed) -> None:
    call.reject((), kind=RejectionKind.DOMAIN, source=RejectionSource.TOOL)


def _judgeable(content: object) -> object:
    """The result that a message was made of, where its shape may say something: mappings became JSON."""
    if not isinstance(content, str) or not content.startswith("{") or len(content) > _ROOM_TO_JUDGE:
        return content
    if _SHAPES.search(content) is None:
        return content
    try:
        return json.loads(content)
    except ValueError:
        return content


def _is_of(error: BaseException, name: str) -> bool:
    # Looked up, not imported: where langgraph was never imported, nothing can have raised its exceptions.
    kind = getattr(sys.modules.get("langgraph.errors"), name, None)
    return isinstance(kind, type) and isinstance(error, kind)


def is_put_off(error: BaseException) -> bool:
    """Whether the run pauses: for an answer, for a better one than the last, or because the process is to end."""
    if _is_of(error, "GraphBubbleUp"):
        return not _is_of(error, "ParentCommand")
    is_invalid_resume = getattr(sys.modules.get("langgraph.errors"), "is_invalid_resume", None)
    return callable(is_invalid_resume) and bool(is_invalid_resume(error))


def _faults(error: BaseException, tool: BaseTool | None) -> Sequence[Fault]:
    """What a validation error says of the arguments that the model writes; empty where it says nothing of them."""
    hidden = hidden_fields(tool) if tool is not None else frozenset()
    return [fault for fault in faults_of(error) if fault.field.partition(".")[0] not in hidden]


def _uncallable(error: TypeError, asked: Asked) -> Sequence[Fault]:
    """The arguments that do not fit the function itself: a tool that came with JSON Schema validates nothing."""
    for fn in (getattr(asked.tool, "func", None), getattr(asked.tool, "coroutine", None)):
        if fn is not None and was_raised_by_calling(fn, error):
            return find_misfits(inspect.signature(fn), (), asked.arguments)
    return ()
