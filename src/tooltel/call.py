"""
A call's life and its steps.

A call's *life* runs from its first instruction to its settled outcome. Its *steps* are the stretches in which
its own code runs: a function lives for one step, a generator across many, and between them the consumer's code
runs in the same context. So a life is opened once, the context is set only inside a step, and it settles once.

This module holds the only ContextVar. It names no sink: what wants to know of a call is handed in.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token, copy_context
from typing import TYPE_CHECKING, Any, Final, TypeVar

from opentelemetry.context import attach, detach

from tooltel import outcome as outcomes
from tooltel.outcome import Fault, Origin, Outcome, StreamTimes, Verdict
from tooltel.repeats import Repeats, fingerprint
from tooltel.signals import Component
from tooltel.text import clean

if TYPE_CHECKING:
    from types import TracebackType

    from opentelemetry.context import Context
    from opentelemetry.trace import Span

    from tooltel.catalog import Tool
    from tooltel.recording import FanOut, Guard

R = TypeVar("R")

OK: Final = outcomes.OK


class Session:
    """
    One conversation: what every call in it carries.

    `profile` is the bounded label; `key` identifies the session in the memory of repeated calls (None: a process
    default, which is no conversation). `attributes` is a cache of span attributes, by tool, for the recorder.
    """

    __slots__ = ("asked_profile", "attributes", "key", "offered", "origin", "parent")

    def __init__(
        self, origin: Origin, *, asked_profile: str | None = None, key: Hashable = None, parent: str | None = None
    ) -> None:
        self.origin = origin
        self.asked_profile = asked_profile
        self.key = key
        self.parent = parent
        self.attributes: dict[Tool, dict[str, str]] = {}
        self.offered: tuple[str, ...] | None = None


_current: ContextVar[Call | Session | None] = ContextVar("tooltel", default=None)


def current_call() -> Call | None:
    """The call whose step is running in this context, or None."""
    now = _current.get()
    return now if isinstance(now, Call) else None


def current_session() -> Session | None:
    """The session of this context, or None outside any."""
    now = _current.get()
    return now.session if isinstance(now, Call) else now


@contextmanager
def entered(session: Session) -> Iterator[Session]:
    """Make *session* the session of this context for the block."""
    token = _current.set(session)
    try:
        yield session
    finally:
        _reset(token)


def _reset(token: Token[Call | Session | None]) -> bool:
    try:
        _current.reset(token)
    except ValueError:  # left in another context than entered: nothing of ours is set in this one
        return False
    return True


class Services:
    """What a call needs from its runtime. Attributes are read at each call, so they may be swapped."""

    __slots__ = ("clock", "fan_out", "guard", "keys", "openers", "repeats", "session")

    def __init__(  # noqa: PLR0913 - this is the noun that bundles them
        self,
        *,
        clock: Callable[[], float],
        guard: Guard,
        fan_out: FanOut,
        openers: tuple[tuple[Component, Callable[[Call], None]], ...],
        repeats: Repeats,
        session: Session,
    ) -> None:
        self.clock = clock
        self.guard = guard
        self.fan_out = fan_out
        self.openers = openers
        self.repeats = repeats
        self.session = session
        self.keys: Mapping[str, str] = {}


class Binding:
    """What is known of a wrapped callable before it is called. A reload replaces `tool`; running calls keep theirs."""

    __slots__ = ("__weakref__", "alias", "fn", "services", "signature", "skip_first", "tool")

    def __init__(self, tool: Tool, services: Services, fn: Callable[..., Any] | None, alias: str | None = None) -> None:
        self.tool = tool
        self.services = services
        self.fn = fn
        self.alias = alias
        self.signature = _signature(fn) if fn is not None else None
        self.skip_first = self.signature is not None and fn is not None and _is_method(fn, self.signature)

    def fingerprint(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bytes | None:
        """A hash of the canonical arguments, the instance of a method left out."""
        if self.skip_first and args:
            args = (None, *args[1:])
        return fingerprint(self.signature, args, kwargs)


def _signature(fn: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError):  # some C functions have none
        return None


def _is_method(fn: Callable[..., Any], signature: inspect.Signature) -> bool:
    owner = getattr(fn, "__qualname__", "").rpartition(".")[0]
    first = next(iter(signature.parameters), "")
    return bool(owner) and not owner.endswith("<locals>") and first in ("self", "cls") and inspect.isfunction(fn)


class Call:
    """
    One life of a tool. As a context manager it is a life of one step: entered, left, settled.

    `span` and `context` are set by whoever opens a span; the context is current during steps only.
    """

    __slots__ = (
        "_args", "_context_token", "_deferred", "_entered", "_kwargs", "_left", "_open", "_token", "_verdict", "alias", "binding",
        "call_id", "context", "fingerprint", "parent", "seconds", "services", "session", "span", "tool", "trace_ids",
    )  # fmt: skip

    def __init__(
        self, binding: Binding, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None, call_id: str | None = None
    ) -> None:
        self.binding = binding
        self.services = services = binding.services
        self.tool = tool = binding.tool
        self.alias = binding.alias
        self.call_id = call_id
        outer = _current.get()
        if outer is None:
            self.session = services.session
            self.parent: str | None = None
        elif isinstance(outer, Session):
            self.session = outer
            self.parent = outer.parent
        else:
            self.session = outer.session
            self.parent = outer.tool.name
        self.span: Span | None = None
        self.context: Context | None = None
        self.trace_ids: tuple[str, str] | None = None
        self.seconds = self._left = 0.0
        self._args, self._kwargs = args, kwargs
        self._verdict: Verdict = OK
        self._open = True
        self._deferred = False
        for component, opened in services.openers:
            try:
                opened(self)
            except Exception as error:  # noqa: BLE001 - any opener, any failure
                services.guard.contain(component, error)
        # Arguments are hashed before the tool can change them.
        self.fingerprint = binding.fingerprint(args, kwargs or {}) if tool.counts_repeats and self.session.key else None

    # --- steps ---

    def __enter__(self) -> Call:
        self._token = _current.set(self)
        context = self.context
        self._context_token = attach(context) if context is not None else None
        try:
            self._entered = self.services.clock()
        except Exception as error:  # noqa: BLE001 - a clock is the host's
            self._entered = 0.0
            self.services.guard.contain(Component.CLOCK, error)
        return self

    def _leave(self) -> None:
        try:
            self._left = now = self.services.clock()
            self.seconds += now - self._entered
        except Exception as error:  # noqa: BLE001 - a clock may also return nonsense
            self.services.guard.contain(Component.CLOCK, error)
        finally:
            if _reset(self._token) and self._context_token is not None:
                detach(self._context_token)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave()
        if self._deferred and error is None:
            self._deferred = False
            return
        self.settle(error)

    # --- what the tool gave ---

    def returned(self, result: R) -> R:
        """Judge *result* by its shape, and give it back untouched."""
        if self.tool.result_shape:
            try:
                self._verdict = outcomes.judge_result(result)
            except Exception as error:  # noqa: BLE001 - a result may be any object, with any methods
                self.services.guard.contain(Component.CALL, error)
        return result

    def defer(self) -> None:
        """Keep the life open past this step: the result is still being awaited."""
        self._deferred = True

    # --- the end ---

    def settle(self, error: BaseException | None = None) -> None:
        """End the life, once: the outcome goes to every recorder. Never raises, save under a test kit."""
        if not self._open:
            return
        self._open = False
        services = self.services
        try:
            verdict = self._verdict if error is None else self._judge(error)
            outcome = self._outcome(verdict, error)
        except Exception as failure:  # noqa: BLE001 - judging runs foreign code (isinstance, str)
            outcome = Outcome(outcomes.Status.ERROR, self.tool, self.session.origin, error=error, span=self.span, opened=True)
            services.guard.contain(Component.CALL, failure)
        services.fan_out(outcome)

    def _outcome(self, verdict: Verdict, error: BaseException | None) -> Outcome:
        status = verdict.status
        seconds = self.seconds
        repeated = None
        if self.fingerprint is not None:
            repeated = self.services.repeats.note(self.session.key, self.tool.name, self.fingerprint, status)
        return Outcome(
            status,
            self.tool,
            self.session.origin,
            seconds if 0.0 <= seconds < 1e9 else 0.0,  # a clock that went back, or gave infinity or nan
            error,
            verdict.error_type,
            self.alias,
            self.parent,
            self.call_id,
            verdict.rejections,
            verdict.policy,
            verdict.items,
            self._stream(),
            repeated,
            None,
            self.span,
            True,
        )

    def _stream(self) -> StreamTimes | None:
        return None

    def _judge(self, error: BaseException) -> Verdict:
        if type(error) is TypeError and (faults := self._binding_faults(error)):
            return outcomes.structural(faults)
        return outcomes.judge_exception(error)

    def _binding_faults(self, error: TypeError) -> list[Fault]:
        """The arguments that do not fit, when *error* was raised by the act of calling and not by the tool's body."""
        traceback, signature = error.__traceback__, self.binding.signature
        if signature is None or (traceback is not None and traceback.tb_next is not None):
            return []
        try:
            signature.bind(*self._args, **(self._kwargs or {}))
        except TypeError:
            return _misfits(signature, self._args, self._kwargs or {})
        return []

    def __del__(self) -> None:
        # The last net: an async generator whose loop is gone, a coroutine that nobody awaited.
        if getattr(self, "_open", False) and not sys.is_finalizing():
            self.settle(GeneratorExit())


def _misfits(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Fault]:
    parameters = signature.parameters
    faults: list[Fault] = []
    try:
        given = set(signature.bind_partial(*args).arguments) | set(kwargs)
    except TypeError:
        return [Fault("", f"{len(args)} positional arguments do not fit", f"at most {len(parameters)}")]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name, parameter in parameters.items():
        required = parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        )
        if required and name not in given:
            faults.append(Fault(name, "missing", "a value"))
    for name in kwargs:
        if name not in parameters and not takes_any:
            faults.append(Fault(clean(name), "unexpected", None))
    return faults or [Fault("", "does not fit the signature", None)]


class Stream(Call):
    """A life of many steps: entering and leaving it is one step, and `settle` ends it."""

    __slots__ = ("_first", "_first_own", "_items", "_last")

    def __init__(
        self, binding: Binding, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None, call_id: str | None = None
    ) -> None:
        self._items = 0
        self._first = self._last = 0.0
        self._first_own: float | None = None
        super().__init__(binding, args, kwargs, call_id)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave()

    def passed(self) -> None:
        """An item is about to reach the consumer: called right after the step that made it."""
        self._items += 1
        if self._first_own is None:
            self._first_own = self.seconds
            self._first = self._left
        self._last = self._left

    def _stream(self) -> StreamTimes | None:
        life = self._last - self._first if self._items else 0.0
        return StreamTimes(self._first_own, life, self._items)


def propagate(fn: Callable[..., R]) -> Callable[..., R]:
    """
    Let *fn* run with this moment's session and call, wherever it runs.

    Tasks and `asyncio.to_thread` carry them by themselves; a bare thread or an executor's `submit` does not:
    `pool.submit(tooltel.propagate(work), item)`. The result may be called many times, in parallel.
    """
    snapshot = copy_context()

    @functools.wraps(fn)
    def carried(*args: Any, **kwargs: Any) -> R:
        return snapshot.copy().run(fn, *args, **kwargs)  # a context can be entered once at a time

    return carried
