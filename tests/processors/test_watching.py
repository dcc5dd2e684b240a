"""Drops that only a log shows count, and those that a hook saw, too, count once."""

from __future__ import annotations

import copy
import logging
import pickle
import threading
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from prometheus_client import CollectorRegistry

from tests.processors.kit import CALLER, DROPS, adk
from tooltel import Catalog, CatalogError, Tool, Tooltel, add_tool_context
from tooltel.catalog import Signature
from tooltel.drops import Drops, Teller
from tooltel.processors.stdlib import LogFilter
from tooltel.processors.structlog import DropCounter
from tooltel.testing import FakeClock, capture

if TYPE_CHECKING:
    from tooltel.testing import Captured

# --- what only a log shows ---------------------------------------------------------------------------


def test_a_logged_drop_counts_at_once_with_reason_and_owner(watched: logging.Logger, seen: Captured) -> None:
    watched.warning("%s", adk("order_fnd"))
    assert seen.increase(DROPS, reason="unknown", requested="other", profile="none") == 1
    assert [outcome.missing.requested for outcome in seen.outcomes if outcome.missing] == ["order_fnd"]
    assert [facts["requested"] for facts in seen.logged("tool_not_found")] == ["order_fnd"]


def test_a_logged_drop_is_of_the_session_in_which_it_is_logged(
    tel: Tooltel, watched: logging.Logger, seen: Captured
) -> None:
    with tel.session(profile="support", agent="a", id="s-1"):
        watched.warning(adk("order_refund"))
    assert seen.increase(DROPS, profile="support", reason="not_in_profile", requested="order_refund") == 1
    (outcome,) = seen.outcomes
    assert (outcome.origin.agent, outcome.origin.session_id) == ("a", "s-1")


def test_other_lines_and_other_moments_count_for_nothing(tel: Tooltel, seen: Captured) -> None:
    """Errors and rejections are seen by wrappers and plug-ins, which a line of them must not count again."""
    added = LogFilter(tel)
    for name, text in (
        (CALLER, "calling order_find"),
        ("shop.chat", adk("order_fnd")),
        ("fastmcp.server.server", "Error calling tool 'order_find'"),
        ("mcp.server.mcpserver.server", "Tool 'order_find' rejected arguments: ['id']"),
        ("tooltel", adk("order_fnd")),
    ):
        assert added.filter(logging.LogRecord(name, logging.ERROR, "x.py", 1, text, (), None))
    assert seen.outcomes == []


def test_a_users_signature_counts_its_moment(clock: FakeClock) -> None:
    own = Signature("error", r"order desk gave up on (?P<name>\w+)", logger="shop.desk")
    made = Tooltel(Catalog([Tool("order_find", "orders")], signatures=[own], open=True), registry=CollectorRegistry())
    added = LogFilter(made)
    with capture(made) as seen:
        added.filter(logging.LogRecord("shop.desk", 40, "x.py", 1, "order desk gave up on %s", ("order_find",), None))
    assert seen.increase("tooltel_tool_calls_total", tool="order_find", outcome="error") == 1


def test_a_signature_that_cannot_work_is_refused_when_the_filter_is_made() -> None:
    made = Tooltel(Catalog(signatures=[Signature("error", "it failed: (.*)")], open=True), registry=CollectorRegistry())
    with pytest.raises(CatalogError, match="signatures"):
        LogFilter(made)


def test_a_reload_is_followed(tel: Tooltel, watched: logging.Logger, seen: Captured) -> None:
    tel.reload(Catalog([Tool("order_find", "orders", retired=["order_fnd"])], open=True))
    watched.warning(adk("order_fnd"))
    assert seen.increase(DROPS, reason="renamed", owner="orders", requested="order_fnd") == 1


def test_a_signature_that_a_reload_brings_counts_for_a_logger_that_was_known_before(tel: Tooltel) -> None:
    added = LogFilter(tel)
    record = logging.LogRecord("shop.desk", 30, "x.py", 1, "no such function order_fnd", (), None)
    added.filter(record)
    with capture(tel) as seen:
        own = Signature("not_found", r"no such function (?P<name>\S*)", logger="shop.desk")
        assert tel.reload(Catalog(signatures=[own], open=True)) == ()
        added.filter(record)
    assert seen.increase(DROPS) == 1


def test_a_reload_to_a_signature_that_cannot_work_keeps_the_ones_before(tel: Tooltel, log: logging.Logger) -> None:
    log.addFilter(LogFilter(tel))
    bad = Signature("not_found", r"no such function (?P<name>(\w+)+)!")
    tel.reload(Catalog([Tool("order_find", "orders", retired=["order_fnd"])], signatures=[bad], open=True))
    for _ in range(3):
        log.warning(adk("order_fnd"))
    from tooltel.testing import parse_samples

    counted = dict.fromkeys((DROPS, "tooltel_internal_errors_total"), 0.0)
    for (name, _), value in parse_samples(tel.view).items():
        if name in counted:
            counted[name] += value
    assert counted == {DROPS: 3, "tooltel_internal_errors_total": 1}


# --- once ---------------------------------------------------------------------------------------------


def test_a_drop_that_a_hook_saw_and_then_a_log_shows_counts_once(
    tel: Tooltel, watched: logging.Logger, seen: Captured, clock: FakeClock
) -> None:
    tel.not_found("order_fnd")
    clock.advance(1.9)
    watched.warning(adk("order_fnd"))
    assert seen.increase(DROPS) == 1


def test_a_drop_that_a_log_shows_and_then_a_hook_sees_counts_once(
    tel: Tooltel, watched: logging.Logger, seen: Captured, clock: FakeClock
) -> None:
    watched.warning(adk("order_fnd"))
    clock.advance(1.9)
    outcome = tel.not_found("order_fnd")
    assert outcome.missing is not None
    assert outcome.missing.is_counted
    assert outcome.missing.nearest == "order_find"
    assert seen.increase(DROPS) == 1
    assert len(seen.outcomes) == 1
    assert len(seen.spans) == 1
    assert len(seen.logged("tool_not_found")) == 1


@pytest.mark.parametrize("order", ["hhll", "llhh", "hlhl", "lhlh", "hllh", "lhhl"])
def test_two_drops_at_once_stay_two_in_any_order(
    order: str, tel: Tooltel, watched: logging.Logger, seen: Captured
) -> None:
    for who in order:
        if who == "h":
            tel.not_found("order_fnd")
        else:
            watched.warning(adk("order_fnd"))
    assert seen.increase(DROPS) == 2


def test_each_hook_cancels_at_most_one_line(tel: Tooltel, watched: logging.Logger, seen: Captured) -> None:
    tel.not_found("order_fnd")
    for _ in range(3):
        watched.warning(adk("order_fnd"))
    assert seen.increase(DROPS) == 3


def test_after_two_seconds_or_with_another_name_it_is_another_drop(
    tel: Tooltel, watched: logging.Logger, seen: Captured, clock: FakeClock
) -> None:
    tel.not_found("order_fnd")
    watched.warning(adk("order_fndd"))
    clock.advance(2.1)
    watched.warning(adk("order_fnd"))
    assert seen.increase(DROPS) == 3


def test_an_observed_call_that_was_told_before_is_closed_and_not_counted_again(
    tel: Tooltel, watched: logging.Logger, seen: Captured
) -> None:
    call = tel.observe("order_fnd")
    watched.warning(adk("order_fnd"))
    tel.not_found("order_fnd", call=call)
    assert seen.increase(DROPS) == 1
    assert seen.increase("tooltel_tool_calls_active") == 0
    assert all(span.end_time is not None for span in seen.spans)


def test_a_frameworks_span_of_a_drop_that_was_told_before_still_gets_its_outcome(
    tel: Tooltel, watched: logging.Logger, seen: Captured
) -> None:
    provider = TracerProvider()
    with provider.get_tracer("framework").start_as_current_span("execute_tool order_fnd") as span:
        watched.warning(adk("order_fnd"))
        tel.not_found("order_fnd", span=span)
    assert isinstance(span, ReadableSpan)
    assert (span.attributes or {})["tool.outcome"] == "not_found"
    assert seen.increase(DROPS) == 1


def test_a_line_that_its_framework_writes_twice_for_each_call_counts_once_for_two(tel: Tooltel, seen: Captured) -> None:
    added = LogFilter(tel)
    for _ in range(4):
        text = "tool_name=<bad name!> | invalid tool name pattern"
        added.filter(logging.LogRecord("strands.tools.tools", 30, "x.py", 1, text, (), None))
    assert seen.increase(DROPS) == 2


def test_a_record_that_passes_several_filters_copies_and_threads_counts_once(tel: Tooltel, seen: Captured) -> None:
    record = logging.LogRecord(CALLER, 30, "x.py", 1, adk("order_fnd"), (), None)
    LogFilter(tel).filter(record)
    LogFilter(tel).filter(record)
    LogFilter(tel).filter(copy.copy(record))  # what a QueueHandler sends on
    LogFilter(tel).filter(pickle.loads(pickle.dumps(record)))  # noqa: S301 - our own
    assert seen.increase(DROPS) == 1


def test_many_threads_lose_and_double_no_drop(tel: Tooltel, watched: logging.Logger, seen: Captured) -> None:
    def tell(number: int) -> None:
        for place in range(50):
            (tel.not_found if number % 2 else lambda name: watched.warning(adk(name)))(f"tool_{place}")

    threads = [threading.Thread(target=tell, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen.increase(DROPS) == 50 * 4


@given(st.lists(st.tuples(st.sampled_from(["hook", "logging"]), st.sampled_from("ab"), st.floats(0, 3)), max_size=40))
def test_what_counts_is_never_less_than_one_teller_told_and_never_more_than_all(
    told: list[tuple[str, str, float]],
) -> None:
    clock = FakeClock()
    drops = Drops(clock)
    new = 0
    for teller, name, seconds in told:
        clock.advance(seconds)
        new += drops.is_new(name, Teller(teller))
    by_one = [sum(teller == one for teller, _, _ in told) for one in ("hook", "logging")]
    assert max(by_one) <= new <= len(told)


def test_a_flood_of_names_is_remembered_in_bounded_memory() -> None:
    drops = Drops(FakeClock())
    for number in range(30_000):
        assert drops.is_new(f"tool_{number}", Teller.HOOK)
    assert len(drops._recent) <= 10_000
    assert len(drops._named) <= 10_000


def test_a_clock_that_fails_or_goes_back_loses_no_drop() -> None:
    clock = FakeClock(100.0)
    drops = Drops(clock)
    assert drops.is_new("a", Teller.HOOK)
    clock.advance(-50.0)
    assert drops.is_new("a", Teller.LOGGING)

    def broken() -> float:
        raise OSError

    assert Drops(broken).is_new("a", Teller.HOOK)


# --- structlog ----------------------------------------------------------------------------------------


def test_a_structlog_event_counts_and_is_left_as_it_is(tel: Tooltel, seen: Captured) -> None:
    count = DropCounter(tel)
    event = {"event": adk("order_fnd"), "logger": CALLER, "level": "warning", "other": 1}
    assert count(None, "warning", event) is event
    assert event == {"event": adk("order_fnd"), "logger": CALLER, "level": "warning", "other": 1}
    assert seen.increase(DROPS) == 1


def test_a_foreign_record_counts_once_for_filter_and_processor(
    tel: Tooltel, watched: logging.Logger, seen: Captured
) -> None:
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    handler = Keep()
    chain: list[Any] = [add_tool_context, DropCounter(tel)]
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=chain,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    watched.addHandler(handler)
    try:
        watched.warning(adk("order_fnd"))
    finally:
        watched.removeHandler(handler)
    assert len(lines) == 1
    assert seen.increase(DROPS) == 1


def test_an_event_that_goes_on_to_the_standard_library_counts_once(tel: Tooltel, log: logging.Logger) -> None:
    log.addFilter(LogFilter(tel))
    with capture(tel) as seen:
        bound = structlog.wrap_logger(
            log,
            processors=[DropCounter(tel), structlog.stdlib.render_to_log_kwargs],
            wrapper_class=structlog.stdlib.BoundLogger,
        )
        bound.warning(adk("order_fnd"))
    assert seen.increase(DROPS) == 1


@given(st.dictionaries(st.text(max_size=10), st.none() | st.text() | st.integers() | st.binary(), max_size=5))
def test_no_event_makes_the_processor_raise(event: dict[str, Any]) -> None:
    made = Tooltel(Catalog(open=True), registry=CollectorRegistry())
    event.setdefault("event", adk("x"))
    assert DropCounter(made)(None, "warning", event) is event
