"""`tooltel.configure()`: one instance for the process, made at start-up and found everywhere."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from prometheus_client import REGISTRY, CollectorRegistry

import tooltel
from tooltel import runtime
from tooltel.testing import capture, parse_samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tooltel import Tooltel


def order_lookup() -> str:
    """Look up one order by its number, with its items and its delivery state."""
    return "done"


@pytest.fixture(autouse=True)
def no_default() -> Iterator[None]:
    before = runtime._default
    runtime._default = None
    yield
    made: Tooltel | None = runtime._default
    if made is not None:
        made.close()
    runtime._default = before


def test_before_it_there_is_none_and_the_error_says_what_to_do() -> None:
    with pytest.raises(tooltel.NotConfiguredError, match=r"call tooltel\.configure"):
        tooltel.default()


def test_it_is_the_default_from_then_on() -> None:
    tel = tooltel.configure(registry=CollectorRegistry())
    assert tooltel.default() is tel
    with capture() as seen:
        tel.tool(order_lookup, owner="desk")()
    assert len(seen.outcomes) == 1


def test_its_series_are_in_the_hosts_own_registry() -> None:
    tooltel.configure()
    assert any(family.name == "tooltel_tool_calls" for family in REGISTRY.collect())


def test_called_again_it_replaces_the_old_one_whose_series_leave_the_registry() -> None:
    first = tooltel.configure(agent="first")
    old = first.tool(order_lookup, owner="desk")
    old()
    second = tooltel.configure(agent="second")
    assert tooltel.default() is second
    assert old() == "done", "what the old one wrapped keeps working"
    shown = [key for key in parse_samples(second.view) if key[0] == "tooltel_tool_calls_total"]
    assert shown == [], "and is in nobody's way"
    new = second.tool(order_lookup, owner="desk")
    with capture() as seen:
        new()
    assert seen.increase("tooltel_tool_calls_total", outcome="ok") == 1


def test_a_tool_of_the_old_one_can_be_wrapped_for_the_new_one() -> None:
    """As when a module was imported before a test configured its own."""
    first = tooltel.configure(registry=CollectorRegistry())
    old = first.tool(order_lookup, owner="desk")
    second = tooltel.configure(registry=CollectorRegistry())
    new = second.tool(old, owner="desk")
    with capture() as seen:
        assert new() == "done"
    assert len(seen.outcomes) == 1


def test_many_threads_that_configure_at_once_leave_one() -> None:
    ready = threading.Barrier(4, timeout=30)
    made = []

    def configure() -> None:
        ready.wait()
        made.append(tooltel.configure())

    threads = [threading.Thread(target=configure) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tooltel.default() in made
    assert sum(family.name == "tooltel_build" for family in REGISTRY.collect()) == 1


def test_options_are_those_of_an_instance() -> None:
    tel = tooltel.configure(tooltel.Catalog(open=True), registry=CollectorRegistry(), profile="support", agent="a")
    assert (tel.services.session.asked_profile, tel.services.session.origin.agent) == ("support", "a")
    with pytest.raises(TypeError):
        tooltel.configure(registry=CollectorRegistry(), profil="support")
