"""
A witness of a tool's own run: what it raised, which nobody else is shown.

A ToolNode turns rejected arguments, and whatever else it was told to handle, into a message to the model; by then the
exception is gone. Callbacks get it. So a handler of ours stands beside the host's while a call of ours runs, by the way
that langchain-core has for its own collectors (`register_configure_hook`): no config is touched, no tool replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Final

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tools import BaseTool
from langchain_core.tracers.context import register_configure_hook

from tooltel.integrations.hooks import contained

if TYPE_CHECKING:
    from uuid import UUID

    from tooltel.runtime import Tooltel

# The frames in which a tool runs: what comes right below tells whether its own code was reached.
_RUNS: Final = frozenset({BaseTool.run.__code__, BaseTool.arun.__code__})
_PARSING: Final = "_to_args_and_kwargs"


class Inline(BaseCallbackHandler):
    """A handler that runs where the event happens, without a thread of its own, and asks for no event."""

    run_inline = True
    ignore_llm = True
    ignore_chat_model = True
    ignore_chain = True
    ignore_agent = True  # which is what tools' events are called
    ignore_retriever = True
    ignore_retry = True
    ignore_custom_event = True


class Witness(Inline):
    """
    Sees the runs of one call: none, where something else answered, or many, where something tries again.

    `error` is what the last run raised, and `rejected` whether it was raised before the tool's own code was reached.
    Tools that the tool itself runs are not looked at. *begin* is called when the first run starts.
    """

    ignore_agent = False
    started = False
    error: BaseException | None = None
    rejected = False
    _run: UUID | None = None
    _around: UUID | None = None

    def __init__(self, tel: Tooltel, begin: Callable[[], None] | None = None) -> None:
        self.tel = tel
        self._begin = begin

    def on_tool_start(self, *_: Any, run_id: UUID, parent_run_id: UUID | None = None, **__: Any) -> None:
        """Take note of a run, unless it is one inside another."""
        if self.started and parent_run_id != self._around:
            return
        self._run, self._around = run_id, parent_run_id
        if self.started:  # once more
            self.error, self.rejected = None, False
        else:
            self.started = True
            if self._begin is not None:
                self._begin_call()

    @contained
    def _begin_call(self) -> None:
        if self._begin is not None:
            self._begin()

    @contained
    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """Keep what the run raised."""
        if run_id == self._run:
            self.error = error
            self.rejected = was_rejected(error)


def was_rejected(error: BaseException) -> bool:
    """Whether *error*, raised by a tool's run, was raised while its arguments were read."""
    frames = walk_tb(error.__traceback__)
    for frame, _ in frames:
        if frame.f_code in _RUNS:
            below = next(frames, None)
            return below is not None and below[0].f_code.co_name == _PARSING
    return False


witnesses: Final[ContextVar[BaseCallbackHandler | None]] = ContextVar("tooltel_witness", default=None)
# Not inherited: of what runs inside, only what is configured in this very context has the handler, which asks nothing.
register_configure_hook(witnesses, inheritable=False)
