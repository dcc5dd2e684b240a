"""A plug-in tells of a call that a framework runs: one outcome, the framework's own span, no second count."""

from __future__ import annotations

import gc
import sys
from contextvars import copy_context

import pytest
from opentelemetry.sdk.trace import TracerProvider
from prometheus_client import CollectorRegistry

from tooltel import Catalog, Owner, Profile, Rejected, Tool, Tooltel
from tooltel.observed import Observed
from tooltel.outcome import Fault
from tooltel.signals import Status
from tooltel.testing import capture


@pytest.fixture
def tel() -> Tooltel:
    """A desk with one irreversible tool and an old name for it."""
    tool = Tool("order_refund", "payments", "irreversible", profiles=("support",), aliases=("refund_order",))
    catalog = Catalog(
        tools=[tool], owners=[Owner("payments")], profiles=[Profile("support", "payments")], platform_owner="payments"
    )
    return Tooltel(catalog, registry=CollectorRegistry())


def test_a_frameworks_span_is_tagged_and_left_for_the_framework_to_end(tel: Tooltel) -> None:
    tracer = TracerProvider().get_tracer("framework")
    for end in ("finish", "fail", "reject", "refuse", "conclude"):
        span = tracer.start_span("execute_tool anything")
        call = tel.observe("anything", {"n": 1}, span=span)
        verbs = {
            "finish": lambda call=call: call.finish(1),
            "fail": lambda call=call: call.fail(ValueError("no")),
            "reject": lambda call=call: call.reject([Fault("n", "wrong")]),
            "refuse": lambda call=call: call.refuse("approval"),
            "conclude": lambda call=call: call.conclude(Status.TIMEOUT, "timeout"),
        }
        verbs[end]()
        assert span.is_recording(), end
        assert (getattr(span, "attributes", None) or {})["tool.outcome"], end
        span.end()


def test_without_a_span_of_the_framework_one_is_made_and_ended(tel: Tooltel) -> None:
    with capture(tel) as seen:
        tel.observe("order_refund", {"order_id": "o-1"}, call_id="c-1").finish({"done": True})
    (span,) = seen.spans
    assert (span.attributes or {})["gen_ai.tool.call.id"] == "c-1"
    assert (span.attributes or {})["tool.outcome"] == "ok"


def test_a_wrapper_inside_is_not_counted_again_and_knows_better(tel: Tooltel) -> None:
    @tel.tool
    def order_refund(amount: int) -> int:
        """Refund one order in full, after a human has approved it."""
        if amount > 500:
            raise Rejected("amount", problem="over the limit")
        return amount

    with capture(tel) as seen:
        call = tel.observe("order_refund", {"amount": 900})
        with pytest.raises(Rejected):
            order_refund(900)
        call.fail(RuntimeError("the framework's wrapping of it"))
    (outcome,) = seen.outcomes
    assert outcome.status is Status.INVALID_ARGUMENTS
    assert outcome.rejections[0].faults[0].field == "amount"
    assert len(seen.spans) == 1


def test_equal_calls_of_a_session_are_a_repeat_and_unknown_arguments_are_none(tel: Tooltel) -> None:
    with capture(tel) as seen, tel.session(profile="support", id="s-1"):
        for _ in range(2):
            tel.observe("order_refund", {"order_id": "o-1"}).finish(1)
        for _ in range(2):
            tel.observe("order_refund").finish(1)
    assert seen.increase("tooltel_repeated_calls_total") == 1


def test_an_old_name_counts_as_an_alias_and_a_strange_one_as_unowned(tel: Tooltel) -> None:
    with capture(tel) as seen:
        tel.observe("refund_order").finish(1)
        tel.observe("stranger\n").finish(1)
    assert seen.increase("tooltel_alias_calls_total", alias="refund_order") == 1
    assert seen.increase("tooltel_tool_calls_total", owner="unowned") == 1


def test_a_call_whose_end_nobody_tells_is_abandoned_when_it_is_forgotten(tel: Tooltel) -> None:
    with capture(tel) as seen:
        # In a context of its own, as a task of a framework's has one that is gone with it.
        copy_context().run(tel.observe, "order_refund", {"order_id": "o-1"})
        gc.collect()
        assert [outcome.status for outcome in seen.outcomes] == [Status.ABANDONED]
    assert seen.increase("tooltel_tool_calls_active") == 0


def test_one_that_cannot_be_settled_when_it_is_forgotten_is_contained(
    tel: Tooltel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finalizer's exception would be printed, and some hosts take that for a failure."""
    raised: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", raised.append)

    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(Observed, "settle", broken)
    copy_context().run(tel.observe, "order_refund")
    gc.collect()
    assert raised == []
    assert tel.registry.get_sample_value("tooltel_internal_errors_total", {"component": "call"}) == 1


def test_only_the_first_end_counts(tel: Tooltel) -> None:
    with capture(tel) as seen:
        call = tel.observe("order_refund")
        call.finish(1)
        call.settle(ValueError("late"))
    assert [outcome.status for outcome in seen.outcomes] == [Status.OK]
