"""Fleets for tests: tools really called, at a time of the test's own choosing."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry

from tooltel import Catalog, HouseRules, Profile, Tooltel
from tooltel.errors import Level
from tooltel.testing import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Agent:
    """An agent with tools: each takes the seconds that it is told to, and fails when it is told to."""

    tel: Tooltel
    tools: dict[str, Callable[..., Any]]

    def call(self, tool: str, times: int = 1, *, seconds: float = 0.0, fail: bool = False) -> None:
        """Call a tool."""
        for _ in range(times):
            with suppress(RuntimeError), self.tel.session(profile="support", agent="a", id="s"):
                self.tools[tool](seconds=seconds, fail=fail)


def make_agent(names: dict[str, str]) -> Agent:
    """An agent with the tools *names*, each of the owner that it names."""
    clock = FakeClock(1000.0)
    catalog = Catalog(
        profiles=[Profile("support", "desk")], house=HouseRules(levels={"description": Level.OFF}), open=True
    )
    tel = Tooltel(catalog, registry=CollectorRegistry(), clock=clock)
    tools = {}
    for name, owner in names.items():

        def tool(*, seconds: float, fail: bool) -> None:
            clock.advance(seconds)
            if fail:
                raise RuntimeError("as asked")

        tool.__name__ = name
        tools[name] = tel.tool(owner=owner, version=1, risk="read", profiles=["support"])(tool)
    return Agent(tel, tools)


@contextmanager
def quiet() -> Iterator[None]:
    """Let the calls of a fleet log nothing: a thousand lines are no news."""
    logger = logging.getLogger("tooltel")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
