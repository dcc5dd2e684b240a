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
from math import nan
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

from opentelemetry.context import attach, detach, get_current

from tooltel import late
from tooltel import outcome as outcomes
from tooltel.drops import Teller
from tooltel.misfits import find_misfits, was_raised_by_calling
from tooltel.outcome import Fault, Origin, Outcome, StreamTimes, Verdict
from tooltel.repeats import Repeats, fingerprint
from tooltel.signals import PROFILE, Component, Status

if TYPE_CHECKING:
    from types import MappingProxyType, TracebackType

    from opentelemetry.context import Context
    from opentelemetry.trace import Span

    from tooltel.catalog import Tool
    from tooltel.drops import Drops
    from tooltel.recording import FanOut, Guard
    from tooltel.redact import Payloads

R = TypeVar("R")

OK: Final = outcomes.OK
_LONGEST: Final = 1e9  # seconds; a call that claims more has met a broken clock
_outcome: Final[Callable[[tuple[Any, ...]], Outcome]] = functools.partial(tuple.__new__, Outcome)


def _sane(seconds: float) -> float:
    # A clock may go back, or give infinity or nan; one such value would spoil a histogram's sum for ever.
    return seconds if 0.0 <= seconds < _LONGEST else 0.0


class Session:
    """
    One conversation: what every call in it carries.

    `key` identifies the session in the memory of repeated calls (None: a process default, which is no conversation).
    `within` is the call whose tool runs it, as of a sub-agent. `profile_key` is what log lines call the profile.
    `spans` is a cache of span names and attributes, by tool, for the recorder.
    """

    __slots__ = ("asked_profile", "key", "offered", "origin", "parent", "profile_key", "schemas", "spans", "within")

    def __init__(
        self,
        origin: Origin,
        *,
        asked_profile: str | None = None,
        key: Hashable = None,
        within: Call | None = None,
        profile_key: str = PROFILE,
    ) -> None:
        self.origin = origin
        self.schemas: dict[str, Mapping[str, Any] | None] | None = None  # of what was offered; None: nobody said
        self.asked_profile = asked_profile
        self.key = key
        self.within = within
        self.profile_key = profile_key
        self.parent = within.tool.name if within is not None else None
        self.spans: dict[str, tuple[Tool, str, MappingProxyType[str, str]]] = {}
        self.offered: tuple[str, ...] | None = None


_current: ContextVar[Call | Session | None] = ContextVar("tooltel", default=None)


def current_call() -> Call | None:
    """The call whose step is running in this context, or None."""
    now = _current.get()
    return now.within if isinstance(now, Session) else now


def current_session() -> Session | None:
    """The session of this context, or None outside any."""
    now = _current.get()
    return now.session if isinstance(now, Call) else now


@contextmanager
def entered(session: Session, *, forget: Callable[[Hashable], None] | None = None) -> Iterator[Session]:
    """Make *session* the session of this context for the block; afterwards, *forget* is given its key."""
    token = _current.set(session)
    try:
        yield session
    finally:
        _reset(token)
        if forget is not None:
            forget(session.key)


@contextmanager
def inside(call: Call) -> Iterator[None]:
    """Let the block run inside a step of *call* that runs in another context: the server's end of a client's call."""
    token = _current.set(call)
    context_token = attach(call.context) if call.context is not None else None
    try:
        yield
    finally:
        if _reset(token) and context_token is not None:
            detach(context_token)


def _reset(token: Token[Call | Session | None]) -> bool:
    try:
        _current.reset(token)
    except ValueError:  # left in another context than entered: nothing of ours is set in this one
        return False
    return True


class Services:
    """What a call needs from its runtime. Attributes are read at each call, so they may be swapped."""

    __slots__ = ("clock", "drops", "fan_out", "guard", "keys", "openers", "payloads", "publish", "repeats", "session")

    def __init__(
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
        self.publish = fan_out.publish
        self.openers = openers
        self.repeats = repeats
        self.session = session
        self.keys: Mapping[str, str] = {}
        self.drops: Drops | None = None  # None: nobody reads the log, so that each drop is told once
        self.payloads: Payloads | None = None  # None: nothing is kept of arguments and results

    def publish_drop(self, outcome: Outcome) -> Outcome:
        """Publish *outcome*, a drop that a hook saw; where a log line told of it before, it is not counted again."""
        missing = outcome.missing
        if self.drops is None or missing is None or self.drops.is_new(missing.requested, Teller.HOOK):
            self.publish(outcome)
            return outcome
        told = outcome._replace(missing=missing._replace(is_counted=True))
        self.fan_out.close(told)
        return told


class Binding:
    """What is known of a wrapped callable before it is called. A reload replaces `tool`; running calls keep theirs."""

    __slots__ = (
        "__weakref__",
        "alias",
        "counts_repeats",
        "fn",
        "is_simple",
        "services",
        "signature",
        "skip_first",
        "tool",
    )

    def __init__(self, tool: Tool, services: Services, fn: Callable[..., Any] | None, alias: str | None = None) -> None:
        self.alias = alias
        self.bind(tool)
        self.services = services
        self.fn = fn
        self.signature = _signature(fn) if fn is not None else None
        self.skip_first = self.signature is not None and fn is not None and _is_method(fn, self.signature)

    def bind(self, tool: Tool) -> None:
        """Let calls from now on be calls of *tool*."""
        self.tool = tool
        self.counts_repeats = tool.counts_repeats
        self.is_simple = self.alias is None and not self.counts_repeats  # nothing of a call is special but its end

    def named(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments by name, as far as the signature tells, the instance of a method left out."""
        if not args or self.signature is None:
            return {**{str(place): each for place, each in enumerate(args)}, **kwargs}
        names = list(self.signature.parameters)
        named = {**dict(zip(names, args, strict=False)), **kwargs}
        return {key: each for key, each in named.items() if not (self.skip_first and key == names[0])}

    def fingerprint(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bytes | None:
        """A hash of the canonical arguments, the instance of a method left out."""
        if self.skip_first and args:
            args = (None, *args[1:])
        return fingerprint(self.signature, args, kwargs)

    def misfits(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Fault]:
        """The arguments that do not fit, the instance of a method left out."""
        signature = self.signature
        if self.skip_first and args and signature is not None:
            signature = signature.replace(parameters=list(signature.parameters.values())[1:])
            args = args[1:]
        return find_misfits(signature, args, kwargs)


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
    One life of a tool.

    A shell runs `begin(binding, ...)`, the tool, then `finish(result)` or `fail(error)`; made, it is nothing yet.
    `span` and `context` are set by whoever opens a span, and the context is current during steps only; `mark` is set
    by whoever counts running calls.
    """

    # Defaults on the class: most calls never set these, and a store costs a hot path more than a look-up elsewhere.
    alias: str | None = None
    arguments: str | None = None  # redacted; only where payloads are kept
    borrowed: bool = False  # the span is somebody else's to end
    call_id: str | None = None
    observed: bool = False  # a framework runs it, and a plug-in tells of it
    fingerprint: bytes | None = None
    mark: Any = None
    parent: str | None = None
    span: Span | None = None
    context: Context | None = None
    trace_ids: tuple[str, str] | None = None
    result: str | None = None
    seconds: float = 0.0
    _token: Any = None
    _context_token: Any = None
    _entered = 0.0
    _left = 0.0
    is_open = True
    _is_late = False
    _verdict: Verdict = OK

    def begin(self, binding: Binding, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None) -> None:
        """Open the life, and enter its first step: what runs next is the tool's own code."""
        self.binding = binding
        self.tool = binding.tool
        self.services = services = binding.services
        simple = binding.is_simple
        if not simple and binding.alias is not None:
            self.alias = binding.alias
        if late.waiting:
            late.catch_up()
        outer = _current.get()
        if outer is None:
            self.session = services.session
        elif type(outer) is Session:
            self.session = outer
            self.parent = outer.parent
        else:
            call = cast("Call", outer)
            self.session = call.session
            self.parent = call.tool.name
            if call.observed and call.is_also(binding):  # a plug-in has counted this very call
                self.services = services = call.absorbing(services, borrowed=self.borrowed)
        if services.payloads is not None:
            self.arguments = self._kept(binding.named(args, kwargs or {}))
        for component, opened in services.openers:
            try:
                opened(self)
            except Exception as error:  # noqa: BLE001 - any opener, any failure
                services.guard.contain(component, error)
        # Arguments are hashed before the tool can change them.
        if not simple and binding.counts_repeats and self.session.key is not None and kwargs is not None:
            self.fingerprint = binding.fingerprint(args, kwargs)
        # As `resume` does; one call less on the path that every call takes.
        try:
            self._entered = services.clock()
        except Exception as error:  # noqa: BLE001 - a clock is the host's
            self._entered = nan
            services.guard.contain(Component.CLOCK, error)
        self._token = _current.set(self)
        if self.context is not None:
            self._context_token = attach(self.context)

    # --- steps ---

    def resume(self) -> None:
        """Enter a further step."""
        self._enter_clock()
        self._token = self._context_token = None
        if late.is_collecting():
            return  # Python 3.11 can be collecting inside ContextVar.reset, which would leave a stale value behind
        self._token = _current.set(self)
        if self.context is not None:
            self._context_token = attach(self.context)

    def _enter_clock(self) -> None:
        try:
            self._entered = self.services.clock()
        except Exception as error:  # noqa: BLE001 - a clock is the host's
            self._entered = nan
            self.services.guard.contain(Component.CLOCK, error)

    def leave(self) -> None:
        """Leave the step: what runs next is the consumer's code, or the end."""
        try:
            now = self.services.clock()
            step = now - self._entered
            if step > 0.0:  # a clock that went back, or knew no time, adds none
                self.seconds += step
            self._left = now  # last: what cannot be subtracted is no time
        except Exception as error:  # noqa: BLE001 - a clock may also return nonsense
            self.services.guard.contain(Component.CLOCK, error)
        finally:
            if self._token is not None:
                self._restore()

    def _restore(self) -> None:
        try:
            _current.reset(self._token)
        except (ValueError, RuntimeError):  # entered in another context, or left before: nothing of ours is set here
            return
        if self._context_token is not None:
            detach(self._context_token)

    def lasted(self) -> None:
        """Count the time since the last step as the tool's own: a task of it went on running."""
        try:
            self.seconds += self.services.clock() - self._left
        except Exception as error:  # noqa: BLE001 - a clock may also return nonsense
            self.services.guard.contain(Component.CLOCK, error)

    def finish(self, result: R) -> R:  # noqa: C901, PLR0912, PLR0915 - written out, as every call below is felt
        """Leave the last step with *result*: judge it, settle, and give it back untouched."""
        services = self.services
        # As `leave` does; see there. Nearly every call ends here, and pays for each call within.
        try:
            seconds = self.seconds + (services.clock() - self._entered)
        except Exception as error:  # noqa: BLE001
            seconds = self.seconds
            services.guard.contain(Component.CLOCK, error)
        finally:
            try:
                _current.reset(self._token)
            except (ValueError, TypeError, RuntimeError):  # set in another context, not at all (see `resume`), or left
                pass
            else:
                if self._context_token is not None:
                    detach(self._context_token)
        kind = type(result)
        try:
            # The same question that judging starts with, asked here to spare nearly every call two more.
            if kind is dict:
                tells = "status" in result or "replayed" in result or "content" in result  # type: ignore[operator]
            else:
                tells = kind not in outcomes.PLAIN
        except Exception:  # noqa: BLE001 - a key may refuse to be compared, and a class to be hashed
            tells = True
        if tells:
            self.returned(result)
        briefs = services.fan_out.briefs
        if briefs is not None and self._verdict is OK and self.binding.is_simple and services.payloads is None:
            self.is_open = False
            seconds = seconds if 0.0 <= seconds < _LONGEST else 0.0
            # As FanOut.publish does; one call less, as above.
            failed: list[tuple[Component, Exception]] | None = None
            for component, brief in briefs:
                try:
                    brief(self, seconds)
                except Exception as error:  # noqa: BLE001
                    failed = [*(failed or ()), (component, error)]
            if failed is not None:
                services.fan_out.contain(failed)
        else:
            self.seconds = seconds
            if services.payloads is not None and self.result is None:
                self.returned(result)
            self.settle()
        return result

    def fail(self, error: BaseException, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None) -> None:
        """Leave the last step with *error*, and settle; the arguments tell whether the call itself did not fit."""
        try:
            self.leave()
        finally:  # where the stack is full, leaving fails, and the callers will restore the context
            self.settle(error, args, kwargs)

    # --- what the tool gave ---

    def returned(self, result: R) -> R:
        """Judge *result* by its shape, and give it back untouched."""
        if self.services.payloads is not None:
            self.result = self._kept(result)
        if self.tool.result_shape:
            try:
                self._verdict = outcomes.judge_result(result)
            except Exception as error:  # noqa: BLE001 - a result may be any object, with any methods
                self.services.guard.contain(Component.CALL, error)
        return result

    def _kept(self, payload: object) -> str | None:
        try:
            return self.services.payloads.text(payload) if self.services.payloads is not None else None
        except Exception as error:  # noqa: BLE001 - a redactor is the host's
            self.services.guard.contain(Component.REDACT, error)
            return None

    # --- the end ---

    def settle(
        self, error: BaseException | None = None, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> None:
        """
        End the life, once: the outcome goes to every recorder. Never raises, save under a test kit.

        Without *kwargs* (None) the arguments are not known, and *error* is the tool's own.
        """
        if not self.is_open:
            return
        is_collected = type(error) is GeneratorExit and late.is_collecting()
        if is_collected or (type(error) is RecursionError and not self._is_late):
            if not self._is_late:
                self._is_late = True
                kept = GeneratorExit() if is_collected else error  # a new one: that one holds its frames
                late.waiting.append(functools.partial(self.settle, kept))  # calls no Python: the stack may be full
            return
        self.is_open = False
        services = self.services
        try:
            verdict = self._verdict if error is None else self._judge(error, args, kwargs)
            outcome = self._settled(verdict, error)
        except Exception as failure:  # noqa: BLE001 - judging runs foreign code (isinstance, str)
            outcome = Outcome(
                Status.ERROR,
                self.tool,
                self.session.origin,
                error=error,
                span=self.span,
                mark=self.mark,
                borrowed=self.borrowed,
            )
            services.guard.contain(Component.CALL, failure)
        services.publish(outcome)

    def _settled(self, verdict: Verdict, error: BaseException | None) -> Outcome:
        seconds = _sane(self.seconds)
        repeated, times = None, self._times()
        if self.fingerprint is not None:
            repeated = self.services.repeats.note(self.session.key, self.tool.name, self.fingerprint, verdict.status)
        # Positional, in the order of the fields: the constructor with keywords takes three times as long.
        status, error_type, rejections, policy, items = verdict
        plain = verdict is OK and repeated is None and times is None and self.alias is None and self.result is None
        return _outcome((
            status, self.tool, self.session.origin, seconds, error, error_type, self.alias, self.parent, self.call_id,
            rejections, policy, items, times, repeated, None, self.span, self.mark,
            plain, self.borrowed, self.result,
        ))  # fmt: skip

    def _times(self) -> StreamTimes | None:
        return None

    def is_also(self, binding: Binding) -> bool:
        """Whether a call by *binding* inside this observed one is this one, seen again by the same Tooltel."""
        return self.tool.name == binding.tool.name and self.binding.services is binding.services

    def absorbing(self, services: Services, *, borrowed: bool) -> Services:
        """The services of a call that is this one seen again, where this call is an observed one."""
        raise NotImplementedError

    def _judge(self, error: BaseException, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None) -> Verdict:
        if kwargs is not None and type(error) is TypeError and was_raised_by_calling(self.binding.fn, error):
            faults = self.binding.misfits(args, kwargs)
            if faults:
                return outcomes.structural(faults)
        return outcomes.judge_exception(error)


class Block(Call):
    """A life that is a `with` block, for code that no shell wraps: entered, `returned(result)`, left."""

    def __init__(
        self, binding: Binding, arguments: Mapping[str, Any] | None = None, call_id: str | None = None
    ) -> None:
        self._planned = (binding, arguments)
        if call_id is not None:
            self.call_id = call_id

    def __enter__(self) -> Self:
        binding, arguments = self._planned
        if hasattr(self, "binding"):
            raise RuntimeError(f"a call of {self.tool.name!r} happens once: make another with tel.call()")
        self.begin(binding, (), arguments)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.leave()
        self.settle(error)


class Stream(Call):
    """A life of many steps: each is a `with` block, and `settle` ends the life."""

    _first = 0.0
    _first_own: float | None = None
    _last = 0.0
    _items = 0

    def __enter__(self) -> Self:
        self.resume()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.context is not None:
            self.context = get_current()  # what the tool keeps open across its steps stays current in them
        self.leave()

    def passed(self) -> None:
        """An item is about to reach the consumer: called right after the step that made it."""
        self._items += 1
        self._last = self._left
        if self._first_own is None:
            self._first_own = self.seconds
            self._first = self._left

    def _times(self) -> StreamTimes | None:
        first_own = None if self._first_own is None else _sane(self._first_own)
        return StreamTimes(first_own, _sane(self._last - self._first), self._items)

    def __del__(self) -> None:
        # The last net, for an async generator whose loop is gone: nobody will close it.
        if self.is_open and hasattr(self, "binding") and not sys.is_finalizing():
            self.settle(GeneratorExit())


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
