"""The filter of the standard library's logging: what it adds to records, where it is put, and what it leaves."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.processors.kit import CALLER, CATALOG, DROPS, adk
from tooltel.processors.stdlib import Installed, LogFilter, install

if TYPE_CHECKING:
    from tooltel import Tooltel
    from tooltel.testing import Captured

# --- enriching ----------------------------------------------------------------------------------------


def test_a_record_inside_a_call_carries_owner_version_risk_profile_and_trace(tel: Tooltel, seen: Captured) -> None:
    added = LogFilter(tel)
    records = []

    @tel.tool(name="order_find")
    def order_find() -> None:
        record = logging.LogRecord("shop", 20, "x.py", 1, "looking", (), None)
        assert added.filter(record)
        records.append(vars(record))

    with tel.session(profile="support", id="s-1"):
        order_find()
    (span,) = seen.spans
    assert span.context is not None
    assert {key: value for key, value in records[0].items() if "." in key or key.endswith("_id")} == {
        "gen_ai.tool.name": "order_find",
        "tool.owner": "orders",
        "tool.version": CATALOG.tools["order_find"].version,
        "tool.risk": "read",
        "tool.profile": "support",
        "gen_ai.conversation.id": "s-1",
        "trace_id": f"{span.context.trace_id:032x}",
        "span_id": f"{span.context.span_id:016x}",
    }


def test_what_a_record_says_itself_is_kept_and_outside_any_call_nothing_is_added(tel: Tooltel) -> None:
    added = LogFilter(tel)
    record = logging.LogRecord("shop", 20, "x.py", 1, "looking", (), None)
    before = dict(vars(record))
    added.filter(record)
    assert vars(record) == before
    vars(record)["tool.profile"] = "mine"
    with tel.session(profile="support"):
        added.filter(record)
    assert vars(record)["tool.profile"] == "mine"


def test_a_record_is_never_dropped_and_nothing_is_raised(tel: Tooltel) -> None:
    """A record whose message cannot be made is the host's own matter, later."""
    added = LogFilter(tel)
    assert added.filter(logging.LogRecord(CALLER, 30, "x.py", 1, "%d not found.", ("word",), None))
    tel.services.publish = None  # type: ignore[assignment]  # the worst that can happen inside
    assert added.filter(logging.LogRecord(CALLER, 30, "x.py", 1, adk("x"), (), None))
    from tooltel.testing import parse_samples

    errors = {
        dict(labels)["component"]: value
        for (name, labels), value in parse_samples(tel.view).items()
        if name == "tooltel_internal_errors_total"
    }
    assert errors["logs"] == 2


def test_what_tooltel_logs_of_a_drop_does_not_come_back_to_it(tel: Tooltel, watched: logging.Logger) -> None:
    """Its own line goes through the same handlers, and even under a framework's name it is no drop."""
    lines: list[str] = []

    def write(level: str, event: str, facts: dict[str, Any]) -> None:
        lines.append(event)
        watched.warning(adk("again"))

    tel.events.sink = write
    watched.warning(adk("order_fnd"))
    assert lines == ["tool_not_found"]


# --- install ------------------------------------------------------------------------------------------


@pytest.fixture
def installed(tel: Tooltel, log: logging.Logger) -> Iterator[Installed]:
    with install(tel, capture_warnings=False) as made:
        yield made


def test_install_reaches_loggers_that_do_not_propagate(
    installed: Installed, seen: Captured, log: logging.Logger
) -> None:
    log.warning(adk("order_fnd"))
    assert seen.increase(DROPS) == 1


def test_install_reaches_frameworks_whose_handlers_come_later(installed: Installed, seen: Captured) -> None:
    agno = logging.getLogger("agno")
    agno.propagate = False
    try:
        agno.error("Function order_fnd not found")
    finally:
        agno.propagate = True
    assert seen.increase(DROPS) == 1


def test_install_reaches_children_of_a_logger_whose_handlers_are_its_own(tel: Tooltel, seen: Captured) -> None:
    parent = logging.getLogger("google_adk")
    handler = logging.StreamHandler(io.StringIO())
    parent.addHandler(handler)
    parent.propagate = False
    try:
        with install(tel, capture_warnings=False):
            logging.getLogger("google_adk.google.adk.brand.new").warning(adk("order_fnd"))
    finally:
        parent.propagate = True
        parent.removeHandler(handler)
    assert seen.increase(DROPS) == 1


def test_remove_leaves_nothing_behind(tel: Tooltel, log: logging.Logger) -> None:
    showed = warnings.showwarning
    filters = list(warnings.filters)
    made = install(tel, loggers=["shop"])
    made.remove()
    made.remove()
    assert all(made.filter not in place.filters for place in (log, *log.handlers, *logging.root.handlers))
    assert made.filter not in logging.getLogger("shop").filters
    assert warnings.showwarning is showed
    assert list(warnings.filters) == filters


RUNNER = (
    "Tool 'order_fnd' not found in tool runner. Available tools: ['order_find']. If using a raw tool definition, ..."
)


@pytest.mark.parametrize(("action", "shown"), [("default", 1), ("once", 1), ("always", 3), ("ignore", 0)])
def test_a_warning_counts_each_time_and_is_shown_as_often_as_before(
    action: Any, shown: int, tel: Tooltel, seen: Captured
) -> None:
    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter(action)
        texts: list[str] = []
        warnings.showwarning = lambda message, *rest, **more: texts.append(str(message))
        with install(tel):
            for _ in range(3):
                warnings.warn(RUNNER, UserWarning, stacklevel=1)
            warnings.warn("something else", UserWarning, stacklevel=1)
    assert seen.increase(DROPS) == 3
    assert texts.count(RUNNER) == shown


def test_a_warning_that_goes_on_to_a_log_counts_once(tel: Tooltel, seen: Captured) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        try:
            with install(tel):
                warnings.warn(RUNNER, UserWarning, stacklevel=1)
                warnings.warn(RUNNER, UserWarning, stacklevel=1)
        finally:
            logging.captureWarnings(False)
    assert seen.increase(DROPS) == 2


def test_a_captured_warning_counts_without_any_hook_of_ours(tel: Tooltel, seen: Captured) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        try:
            with install(tel, capture_warnings=False):
                warnings.warn(RUNNER, UserWarning, stacklevel=1)
        finally:
            logging.captureWarnings(False)
    assert seen.increase(DROPS) == 1


def test_who_wants_warnings_to_be_exceptions_gets_one(tel: Tooltel) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with install(tel), pytest.raises(UserWarning, match="tool runner"):
            warnings.warn(RUNNER, UserWarning, stacklevel=1)
