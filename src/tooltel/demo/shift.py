"""The shift: every session of a script, played on the desk's tools as agents would."""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tooltel.demo.judgment import BURN, REPEATED
from tooltel.demo.ledger import Ledger
from tooltel.demo.steps import Beat, Manner, Step, Visit
from tooltel.errors import Refused, Rejected
from tooltel.signals import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from opentelemetry.trace import Tracer

    from tooltel.demo.desk import Desk
    from tooltel.demo.pace import Pace
    from tooltel.runtime import Tooltel

CONVERSATION: Final = "conversation"  # the agent's own span around a session: the host's, not tooltel's


class UnexpectedEndError(AssertionError):
    """A step ended in another way than the script says: a tool or its wrapper did what it should not."""


class Ending(NamedTuple):
    """What the agent saw: a result or an exception, and how many items it read of a stream, if it is one."""

    result: Any = None
    error: BaseException | None = None
    items: int | None = None


class Shift:
    """
    Plays sessions; books each finished step in `ledger`.

    `causes` has the `time.monotonic()` of the first failure, and of the first repeated call, by tool and alert.

    *tel* and *desk* are the application's, *tracer* makes a span around each session.
    """

    def __init__(self, tel: Tooltel, desk: Desk, pace: Pace, *, tracer: Tracer) -> None:
        self._tel = tel
        self._desk = desk
        self._pace = pace
        self._tracer = tracer
        self.ledger = Ledger(tel.catalog)
        self.causes: dict[tuple[str, str], float] = {}

    async def play(self, visits: Iterable[Visit], done: Callable[[Visit], None] = lambda _: None) -> None:
        """Play all *visits*, in order, as many at a time as the pace allows; *done* is told of each."""
        waiting = list(reversed(list(visits)))
        workers = self._pace.workers(len(waiting))
        with ThreadPoolExecutor(workers, thread_name_prefix="desk") as threads:
            asyncio.get_running_loop().set_default_executor(threads)
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(workers):
                        group.create_task(self._work(waiting, done))
            except BaseExceptionGroup as found:
                raise _first(found) from None

    async def _work(self, waiting: list[Visit], done: Callable[[Visit], None]) -> None:
        while waiting:
            visit = waiting.pop()
            await self._visit(visit)
            done(visit)
            await self._pace.rest()

    async def _visit(self, visit: Visit) -> None:
        with (
            self._tracer.start_as_current_span(CONVERSATION),
            self._tel.session(profile=visit.profile, agent=visit.agent, id=visit.id),
        ):
            for beat in visit.beats:
                await self._beat(visit, beat)

    async def _beat(self, visit: Visit, beat: Beat) -> None:
        works = [functools.partial(self._step, visit, step) for step in beat.steps]
        if len(works) == 1:
            await works[0]()
        else:
            await self._pace.together(*works)

    async def _step(self, visit: Visit, step: Step) -> None:
        ending = Ending()
        if step.manner is Manner.DROP:
            self._tel.not_found(step.name)
        else:
            ending = await self._end_of(self._desk.tools[str(step.name)], step)
            if not _fits(step, ending):
                where = f"{visit.id}, {visit.plot}"
                raise UnexpectedEndError(f"{where}: {step.name} ended as {ending}, not {step.fate}")
        self.ledger.book(visit, step, ending.items)
        self._note_cause(step)

    def _note_cause(self, step: Step) -> None:
        if step.fate.status is Status.ERROR:
            self.causes.setdefault((str(step.name), BURN), time.monotonic())
        if step.fate.repeated:
            self.causes.setdefault((str(step.name), REPEATED), time.monotonic())

    async def _end_of(self, tool: Callable[..., Any], step: Step) -> Ending:
        limit = 1 if step.manner is Manner.ABANDON else None
        if inspect.isasyncgenfunction(tool):
            return await _read_async(tool, step.arguments, limit)
        if inspect.isgeneratorfunction(tool):
            return await self._pace.call(functools.partial(_read, tool, step.arguments, limit))
        try:
            if step.manner is Manner.CANCEL:
                return Ending(await _cancelled(tool, step.arguments))
            if inspect.iscoroutinefunction(tool):
                return Ending(await tool(**step.arguments))
            return Ending(await self._pace.call(functools.partial(tool, **step.arguments)))
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - an agent survives whatever a tool does
            _pass_on_interruption(error, step)
            return Ending(error=error)


def _first(found: BaseExceptionGroup) -> BaseException:
    """One of the errors of a group: the others say the same of other sessions."""
    first = found.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


def _read(tool: Callable[..., Any], arguments: Mapping[str, Any], limit: int | None) -> Ending:
    items = 0
    try:
        stream = tool(**arguments)
        for _ in stream:
            items += 1
            if items == limit:
                stream.close()
                break
    except Exception as error:  # noqa: BLE001 - an agent survives whatever a tool does
        return Ending(error=error, items=items)
    return Ending(items=items)


async def _read_async(tool: Callable[..., Any], arguments: Mapping[str, Any], limit: int | None) -> Ending:
    items = 0
    try:
        stream = tool(**arguments)
        async for _ in stream:
            items += 1
            if items == limit:
                await stream.aclose()
                break
    except Exception as error:  # noqa: BLE001 - an agent survives whatever a tool does
        return Ending(error=error, items=items)
    return Ending(items=items)


async def _cancelled(tool: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    running = asyncio.ensure_future(tool(**arguments))
    await asyncio.sleep(0)  # it has begun, and waits for its system
    running.cancel()
    return await running


def _pass_on_interruption(error: BaseException, step: Step) -> None:
    # Whoever cancels this task, and not the step's own call, means the agent itself.
    if not isinstance(error, asyncio.CancelledError):
        return
    task = asyncio.current_task()
    if step.manner is not Manner.CANCEL or (task is not None and task.cancelling()):
        raise error


def _fits(step: Step, ending: Ending) -> bool:
    """Whether what the agent saw is what the script has in store. Knows nothing of how tooltel judges."""
    result, error = ending.result, ending.error
    status = result.get("status") if isinstance(result, dict) else None
    match step.fate.status:
        case Status.TIMEOUT:
            return isinstance(error, TimeoutError)
        case Status.CANCELLED:
            return isinstance(error, asyncio.CancelledError)
        case Status.INVALID_ARGUMENTS:
            return isinstance(error, (Rejected, TypeError)) or status == Status.INVALID_ARGUMENTS
        case Status.REFUSED:
            return isinstance(error, Refused) or status == Status.REFUSED
        case Status.ERROR:
            expected = (TimeoutError, Rejected, Refused, TypeError)
            return isinstance(error, Exception) and not isinstance(error, expected)
        case Status.PARTIAL:
            return error is None and status == Status.PARTIAL
        case Status.REPLAYED:
            return isinstance(result, dict) and result.get("replayed") is True
        case _:
            return error is None
