"""A hotel's desk on openai-agents with a scripted model, and everything that can be seen of it from outside."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from agents import (
    Agent,
    FunctionTool,
    Model,
    ModelResponse,
    RunConfig,
    RunHooks,
    Runner,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    Usage,
    function_tool,
    set_trace_processors,
)
from agents.tracing import TracingProcessor
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from pydantic import TypeAdapter

from tests.integrations import hotel
from tooltel import Tool

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tooltel import Tooltel
    from tooltel.integrations.openai_agents import TooltelAgents

VERSION = tuple(int(part) for part in version("openai-agents").split(".")[:2])
GOES_ON = hasattr(RunConfig, "tool_not_found_behavior")  # after a name that is no tool, where it is asked to

CATALOG = hotel.catalog(
    Tool("wake_guest", "porters", profiles=["desk"]),
    Tool("open_safe", "porters", profiles=["desk"]),
    Tool("concierge", "porters", profiles=["desk"]),
)


class Ask(NamedTuple):
    """A call that the model makes: its name, its arguments (data, or the very text), and an id if it gives one."""

    name: str
    args: Any = None
    id: str | None = None


Step = str | list[Ask]  # what the model answers one request with: text, or calls that run in parallel


class ScriptedModel(Model):
    """Answers each request with the next step, whole or as a stream; keeps the requests."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self._steps: deque[Step] = deque()
        self._asked = 0

    def script(self, *steps: Step) -> None:
        self._steps = deque(steps)

    async def get_response(  # noqa: PLR0917 - the SDK's
        self, system_instructions: Any, input: Any, model_settings: Any, tools: Any, output_schema: Any,  # noqa: A002
        handoffs: Any, tracing: Any, **rest: Any,
    ) -> ModelResponse:  # fmt: skip
        return ModelResponse(
            output=self._answer(system_instructions, input, tools, handoffs), usage=Usage(), response_id=None
        )

    async def stream_response(  # noqa: PLR0917 - the SDK's
        self, system_instructions: Any, input: Any, model_settings: Any, tools: Any, output_schema: Any,  # noqa: A002
        handoffs: Any, tracing: Any, **rest: Any,
    ) -> AsyncIterator[Any]:  # fmt: skip
        response = Response(
            id="r", created_at=0, model="scripted", object="response", tool_choice="auto", tools=[],
            output=self._answer(system_instructions, input, tools, handoffs), parallel_tool_calls=True,
        )  # fmt: skip
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)

    def _answer(self, instructions: Any, asked: Any, tools: Any, handoffs: Any) -> list[Any]:
        offered = [
            [tool.name, getattr(tool, "description", None), getattr(tool, "params_json_schema", None)] for tool in tools
        ]
        leads = [[each.tool_name, each.tool_description, each.input_json_schema] for each in handoffs]
        self.requests.append(dump([instructions, asked, offered, leads]))
        step = self._steps.popleft() if self._steps else "Anything else?"
        if isinstance(step, str):
            text = ResponseOutputText(type="output_text", text=step, annotations=[])
            message = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )
            return [message]
        return [self._call(ask) for ask in step]

    def _call(self, ask: Ask) -> ResponseFunctionToolCall:
        self._asked += 1
        args = "" if ask.args is None else ask.args
        return ResponseFunctionToolCall(
            type="function_call",
            name=ask.name,
            arguments=args if isinstance(args, str) else json.dumps(args),
            call_id=ask.id or f"call-{self._asked}",
        )


_RANDOM = re.compile(r"0x[0-9a-f]+|(?:trace|span|group)_[0-9a-f]{8,}")


def dump(value: Any) -> str:
    """What a request, an item or an event says."""
    return _RANDOM.sub("random", TypeAdapter(Any).dump_json(value, fallback=_told, warnings=False).decode())


def _told(value: Any) -> str:
    name = getattr(value, "name", None)
    return f"{type(value).__name__} {name}" if isinstance(name, str) else str(value)


class Memory:
    """A conversation as the SDK wants to keep one."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.session_settings: Any = None
        self.items: list[Any] = []

    async def get_items(self, limit: int | None = None) -> list[Any]:
        return list(self.items if limit is None else self.items[-limit:])

    async def add_items(self, items: list[Any]) -> None:
        self.items += items

    async def pop_item(self) -> Any:
        return self.items.pop() if self.items else None

    async def clear_session(self) -> None:
        self.items.clear()


class Spans(TracingProcessor):
    """What the SDK's own tracing tells."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def on_trace_start(self, trace: Any) -> None:
        self.said.append(f"trace {trace.name}")

    def on_trace_end(self, trace: Any) -> None:
        self.said.append(f"end of trace {trace.name}")

    def on_span_start(self, span: Any) -> None:
        pass

    def on_span_end(self, span: Any) -> None:
        self.said.append(dump([span.span_data.export(), span.error]))

    def shutdown(self) -> None:
        pass

    def force_flush(self) -> None:
        pass


class Watcher(RunHooks[Any]):
    """A host's own hooks, with what they were told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        self.said.append(f"{agent.name} asks {len(input_items)}")

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        self.said.append(f"{agent.name} gets {dump(response.output)}")

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        self.said.append(f"{agent.name} starts")

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        self.said.append(f"{agent.name} ends {output}")

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        self.said.append(f"{from_agent.name} hands over to {to_agent.name}")

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        self.said.append(f"{agent.name} calls {tool.name} {context.tool_call_id}")

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        self.said.append(f"{agent.name} called {tool.name} {context.tool_call_id}: {result}")


Way = Literal["whole", "streamed", "sync"]
WAYS: tuple[Way, ...] = ("whole", "streamed", "sync")


class Desk:
    """One agent and a conversation; `transcript` holds what came of each turn."""

    def __init__(
        self,
        agent: Any,
        model: ScriptedModel,
        *,
        agents: TooltelAgents | None = None,
        way: Way = "whole",
        **options: Any,
    ) -> None:
        self.agent = agent
        self.model = model
        self.way = way
        self.runs: Any = agents or Runner
        self.hooks = Watcher()
        self.session = Memory("guest-1")
        self.options: dict[str, Any] = {"hooks": self.hooks, "session": self.session, **options}
        self.spans = Spans()
        self.transcript: list[list[str]] = []
        self.results: list[Any] = []

    async def turn(self, *steps: Step, said: Any = "Please.") -> Any:
        """Let the guest say something, and the model answer with *steps*; what is raised ends the turn."""
        result: Any = None
        with self._turn(steps) as transcript:
            if self.way == "streamed":
                result = self.runs.run_streamed(self.agent, said, **self.options)
                self.results.append(result)
                try:
                    async for event in result.stream_events():
                        transcript.append(_event(event))
                finally:
                    result.cancel()
                    with contextlib.suppress(BaseException):
                        await (getattr(result, "run_loop_task", None) or result._run_impl_task)
            else:
                result = await self.runs.run(self.agent, said, **self.options)
                self.results.append(result)
            transcript.extend(_ending(result))
        return result

    def turn_sync(self, *steps: Step, said: Any = "Please.") -> Any:
        """As `turn`, through the SDK's synchronous way."""
        result: Any = None
        with self._turn(steps) as transcript:
            result = self.runs.run_sync(self.agent, said, **self.options)
            self.results.append(result)
            transcript.extend(_ending(result))
        return result

    @contextmanager
    def _turn(self, steps: Iterable[Step]) -> Iterator[list[str]]:
        self.model.script(*steps)
        transcript: list[str] = []
        self.transcript.append(transcript)
        set_trace_processors([self.spans])
        try:
            yield transcript
        except BaseException as error:
            transcript.append(_RANDOM.sub("random", f"{type(error).__qualname__}: {error} {error.__cause__!r}"))
            if not isinstance(error, Exception):
                raise

    def seen(self) -> dict[str, Any]:
        """Everything that can be seen from outside."""
        return {
            "transcript": self.transcript,
            "requests": self.model.requests,
            "hooks": self.hooks.said,
            "spans": self.spans.said,
            "session": [dump(item) for item in self.session.items],
        }


def _event(event: Any) -> str:
    if event.type == "raw_response_event":
        return f"{event.type} {dump(event.data)}"
    if event.type == "run_item_stream_event":
        return f"{event.type} {event.name} {_item(event.item)}"
    return f"{event.type} {event.new_agent.name}"


def _item(item: Any) -> str:
    return f"{item.type} {item.agent.name} {dump(item.raw_item)} {getattr(item, 'output', None)!r}"


def _ending(result: Any) -> list[str]:
    verdicts = [f"{each.guardrail.get_name()} {each.output.behavior}" for each in result.tool_input_guardrail_results]
    items = [_item(item) for item in result.new_items]
    return [*items, *verdicts, f"{result.last_agent.name} {result.final_output!r}"]


# --- the tools ------------------------------------------------------------------------------------


class Hotel(hotel.Hotel):
    """The hotel's tools, and some of the desk's own for what the SDK ends a call or a run for."""

    def functions(self) -> list[Callable[..., Any]]:
        return [*super().functions(), self.wake_guest, self.open_safe]

    def book_table(self, size: int, how: str = "fine") -> dict[str, Any]:
        """Book a table in the restaurant, for some people."""
        self._note("book_table", size, how)
        return hotel.table(size, how)

    async def ring_bell(self, how: str = "fine") -> str:
        """Ring the bell, so that somebody comes to the desk."""
        said = await super().ring_bell(how)
        if how == "gives up":
            raise asyncio.CancelledError
        return said

    async def wake_guest(self, how: str = "fine") -> str:
        """Wake a guest up, as they asked to be."""
        self._note("wake_guest", how)
        if how != "fine":
            self.rung.set()
            await asyncio.Event().wait()
        return "awake"

    def call_taxi(self, how: str = "fine") -> str:
        """Call a taxi to the front door, for a guest."""
        said = super().call_taxi(how)
        if how == "odd":
            TypeAdapter(int).validate_python("a backend's odd answer")
        return said

    async def open_safe(self, how: str = "fine") -> str:
        """Open the safe, which nobody should need to do."""
        self._note("open_safe", how)
        if how == "crash":
            raise ConnectionError("the safe does not answer")
        return "open"

    def tools(self, tel: Tooltel | None = None) -> list[FunctionTool]:
        """As the SDK takes them, wrapped by *tel* when it is given; one is there under its old name, too."""
        functions = {each.__name__: each for each in self.functions()}
        if tel is not None:
            functions = {name: tel.tool(each) for name, each in functions.items()}
        old = functions["find_rooms"] if tel is None else tel.alias("search_rooms", functions["find_rooms"])
        special: dict[str, dict[str, Any]] = {
            "wake_guest": {"timeout": 0.05},
            "open_safe": {"failure_error_function": None},
        }
        tools = [function_tool(each, **special.get(name, {})) for name, each in functions.items()]
        tools.append(function_tool(renamed(old, "search_rooms"), name_override="search_rooms"))
        named(tools, "send_bill").tool_input_guardrails = [CURFEW]
        return tools


def renamed(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(fn)
    async def run(*args: Any, **kwargs: Any) -> Any:
        return await fn(*args, **kwargs)

    run.__name__ = name
    return run


def named(tools: Iterable[Any], name: str) -> Any:
    return next(tool for tool in tools if tool.name == name)


def _curfew(data: Any) -> ToolGuardrailFunctionOutput:
    room = json.loads(data.context.tool_arguments or "{}").get("room")
    if room == "13":
        return ToolGuardrailFunctionOutput.reject_content("there is no such room")
    if room == "666":
        return ToolGuardrailFunctionOutput.raise_exception("unlucky")
    return ToolGuardrailFunctionOutput.allow()


CURFEW: ToolInputGuardrail[Any] = ToolInputGuardrail(guardrail_function=_curfew, name="curfew")


def new_desk(
    hotel: Hotel, *, agents: TooltelAgents | None = None, way: Way = "whole", wrapped: bool = False, **options: Any
) -> Desk:
    """A desk with the hotel's tools, run by *agents* or by the SDK alone."""
    model = ScriptedModel()
    tools = hotel.tools(agents.tel if wrapped and agents is not None else None)
    agent = Agent(name="desk", instructions="Be kind.", model=model, tools=list(tools))
    return Desk(agent, model, agents=agents, way=way, **options)


def telemetry(**options: Any) -> AbstractContextManager[Tooltel]:
    """A Tooltel of this hotel's catalog, on a registry of its own."""
    return hotel.telemetry(CATALOG, **options)
