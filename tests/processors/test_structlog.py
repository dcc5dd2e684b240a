"""Log lines emitted inside a call tell whose tool they are about, in a real structlog pipeline."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import get_current_span, use_span
from prometheus_client import CollectorRegistry

from tooltel import Catalog, HouseRules, Profile, Tooltel, add_tool_context
from tooltel.errors import Level
from tooltel.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

PROVIDER = TracerProvider()
CATALOG = Catalog(profiles=[Profile("support", "desk")], house=HouseRules(levels={"description": Level.OFF}), open=True)
log: Any = structlog.get_logger("host")


class Lines:
    """The lines of a pipeline, as data."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    def all(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def named(self, event: str) -> dict[str, Any]:
        (line,) = [line for line in self.all() if line["event"] == event]
        return line


@pytest.fixture
def lines() -> Iterator[Lines]:
    made = Lines()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            add_tool_context,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(made.stream),
    )
    yield made
    structlog.reset_defaults()


def make(**options: Any) -> Tooltel:
    return Tooltel(CATALOG, registry=CollectorRegistry(), tracer_provider=PROVIDER, **options)


def ids() -> tuple[str, str]:
    context = get_current_span().get_span_context()
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"


def test_a_line_inside_a_call_carries_owner_version_risk_profile_and_trace(lines: Lines) -> None:
    tel = make()
    seen: list[tuple[str, str]] = []

    @tel.tool(owner="payments", version=5, risk="irreversible")
    def order_refund(order_id: str) -> None:
        seen.append(ids())
        log.info("refunding", order_id=order_id)

    with tel.session(profile="support", id="s-1"):
        order_refund("o-1")
    assert lines.named("refunding") == {
        "event": "refunding",
        "level": "info",
        "order_id": "o-1",
        "gen_ai.tool.name": "order_refund",
        "tool.owner": "payments",
        "tool.version": "5",
        "tool.risk": "irreversible",
        "tool.profile": "support",
        "gen_ai.conversation.id": "s-1",
        "trace_id": seen[0][0],
        "span_id": seen[0][1],
    }


def test_a_line_outside_any_call_or_session_is_left_alone(lines: Lines) -> None:
    make()
    log.info("starting")
    assert lines.all() == [{"event": "starting", "level": "info"}]


def test_a_line_in_a_session_but_in_no_call_carries_the_profile_alone(lines: Lines) -> None:
    with make().session(profile="support", id="s-1"):
        log.info("thinking")
    assert lines.named("thinking") == {"event": "thinking", "level": "info", "tool.profile": "support"}


def test_what_the_line_says_itself_is_kept(lines: Lines) -> None:
    tel = make()

    @tel.tool(owner="payments")
    def order_refund() -> None:
        log.info("refunding", **{"tool.owner": "somebody", "trace_id": "mine"})

    order_refund()
    line = lines.named("refunding")
    assert (line["tool.owner"], line["trace_id"]) == ("somebody", "mine")
    assert line["tool.risk"] == "read"


def test_inside_the_tools_own_spans_the_span_is_theirs_and_the_tool_the_same(lines: Lines) -> None:
    tel = make()
    tracer = PROVIDER.get_tracer("tool")
    seen: dict[str, tuple[str, str]] = {}

    @tel.tool(owner="payments")
    def order_refund() -> None:
        log.info("before")
        seen["before"] = ids()
        with tracer.start_as_current_span("query"):
            log.info("inside")
            seen["inside"] = ids()
            with tracer.start_as_current_span("deeper"):
                log.info("deeper")
                seen["deeper"] = ids()
        log.info("after")
        seen["after"] = ids()

    order_refund()
    for event, (trace_id, span_id) in seen.items():
        line = lines.named(event)
        assert (line["trace_id"], line["span_id"], line["gen_ai.tool.name"]) == (trace_id, span_id, "order_refund")
    assert seen["before"] == seen["after"] != seen["inside"]


def test_a_nested_tools_lines_are_its_own_and_the_outer_ones_come_back(lines: Lines) -> None:
    tel = make()

    @tel.tool(owner="orders")
    def order_lookup() -> None:
        log.info("looking")

    @tel.tool(owner="payments")
    def order_refund() -> None:
        log.info("begin")
        order_lookup()
        log.info("end")

    order_refund()
    owners = {line["event"]: line["tool.owner"] for line in lines.all()}
    assert owners == {"begin": "payments", "looking": "orders", "end": "payments"}


def test_a_sub_agents_lines_are_of_the_tool_that_runs_it(lines: Lines) -> None:
    tel = make()

    @tel.tool(owner="desk")
    def delegate() -> None:
        with tel.session(agent="sub_agent"):
            log.info("thinking")

    delegate()
    assert lines.named("thinking")["gen_ai.tool.name"] == "delegate"


def test_lines_of_tasks_and_threads_of_a_tool_are_the_tools(lines: Lines) -> None:
    tel = make()

    @tel.tool(owner="desk")
    async def fan_out() -> None:
        async def work() -> None:
            log.info("in a task")

        await asyncio.gather(work(), asyncio.to_thread(log.info, "in a thread"))
        thread = threading.Thread(target=log.info, args=("in a bare thread",))
        thread.start()
        thread.join()

    asyncio.run(fan_out())
    tools = {line["event"]: line.get("gen_ai.tool.name") for line in lines.all()}
    assert tools == {"in a task": "fan_out", "in a thread": "fan_out", "in a bare thread": None}


def test_between_the_steps_of_a_stream_lines_are_the_consumers(lines: Lines) -> None:
    tel = make()

    @tel.tool(owner="desk")
    async def order_search() -> AsyncIterator[int]:
        log.info("first")
        yield 1
        log.info("second")
        yield 2

    async def main() -> None:
        async for item in order_search():
            log.info("between", item=item)

    asyncio.run(main())
    assert [(line["event"], line.get("gen_ai.tool.name")) for line in lines.all()] == [
        ("first", "order_search"),
        ("between", None),
        ("second", "order_search"),
        ("between", None),
    ]


def test_renamed_attributes_rename_the_keys_everywhere(lines: Lines) -> None:
    settings = Settings(attribute_owner="team", attribute_profile="agent.kind")
    tel = make(settings=settings)

    @tel.tool(owner="payments")
    def order_refund() -> None:
        log.info("refunding")

    with tel.session(profile="support"):
        log.info("thinking")
        order_refund()
    line = lines.named("refunding")
    assert (line["team"], line["agent.kind"]) == ("payments", "support")
    assert not {"tool.owner", "tool.profile"} & set(line)
    assert lines.named("thinking") == {"event": "thinking", "level": "info", "agent.kind": "support"}


@pytest.mark.parametrize("what", ["a call", "a drop", "a rejection"])
def test_our_own_event_of_an_inner_call_says_nothing_of_the_outer_one(lines: Lines, what: str) -> None:
    """The outer call goes on while the inner one is told of: its id and its tool are not the inner one's."""
    tel = make()

    @tel.tool(owner="orders")
    def order_lookup() -> None:
        raise TimeoutError

    def do() -> None:
        if what == "a drop":
            tel.not_found("zork")
        elif what == "a rejection":
            order_lookup(limit=3)  # type: ignore[call-arg]  # the point
        else:
            order_lookup()

    with tel.session(id="s-1"), tel.call("order_refund", call_id="of the outer call"):
        try:
            do()
        except (TimeoutError, TypeError):
            log.info("handled")
    told = [line for line in lines.all() if line["event"] in ("tool_call", "tool_not_found", "tool_rejected")]
    inner = [line for line in told if line.get("gen_ai.tool.name") != "order_refund"]
    assert inner, "the inner one is told of, and a drop names no tool"
    for line in inner:
        assert "gen_ai.tool.call.id" not in line
        assert line.get("tool.risk") == (None if what == "a drop" else "read")
    if what != "a drop":
        assert lines.named("handled")["gen_ai.tool.call.id"] == "of the outer call"


def test_hostile_ids_are_cleaned(lines: Lines) -> None:
    tel = make()
    with tel.session(id="s\n1\x1b[2J"), tel.call("order_refund", call_id="c\n" * 500):
        log.info("working")
    line = lines.named("working")
    for key in ("gen_ai.conversation.id", "gen_ai.tool.call.id"):
        assert line[key].isprintable()
        assert len(line[key]) <= 128


def test_without_an_sdk_there_is_no_trace_and_all_the_rest(lines: Lines) -> None:
    tel = Tooltel(CATALOG, registry=CollectorRegistry())

    @tel.tool(owner="payments")
    def order_refund() -> None:
        log.info("refunding")

    order_refund()
    line = lines.named("refunding")
    assert line["tool.owner"] == "payments"
    assert not {"trace_id", "span_id"} & set(line)


class BrokenSpan:
    def get_span_context(self) -> Any:
        raise RuntimeError("no context")


def test_a_span_that_fails_costs_a_line_its_trace_and_nothing_else(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tooltel.processors.structlog.get_current_span", BrokenSpan)
    tel = make()

    @tel.tool(owner="payments")
    def order_refund() -> str:
        log.info("refunding")
        return "done"

    assert order_refund() == "done"
    assert lines.named("refunding")["tool.owner"] == "payments"


def test_a_span_that_is_current_by_hand_is_followed(lines: Lines) -> None:
    tel = make()
    span = PROVIDER.get_tracer("host").start_span("by hand")

    @tel.tool(owner="payments")
    def order_refund() -> None:
        with use_span(span):
            log.info("inside")

    order_refund()
    assert lines.named("inside")["span_id"] == f"{span.get_span_context().span_id:016x}"


@pytest.mark.parametrize("render", [structlog.dev.ConsoleRenderer(colors=False), structlog.processors.LogfmtRenderer()])
def test_any_renderer_can_show_the_keys(render: Callable[..., Any]) -> None:
    stream = io.StringIO()
    structlog.configure(processors=[add_tool_context, render], logger_factory=structlog.PrintLoggerFactory(stream))
    try:
        with make().call("order_refund"):
            log.info("working")
    finally:
        structlog.reset_defaults()
    assert "tool.owner=unowned" in stream.getvalue()
