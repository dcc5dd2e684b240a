"""What every test shares: an environment of its own, steady property tests, and real servers."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import settings

from tests.servers import EXPECTED, HOW_TO_GET, Servers, generations

if TYPE_CHECKING:
    from tooltel import Tooltel
    from tooltel.testing import Captured, FakeClock

NO_SKIP = os.environ.get("NO_SKIP") == "1"
FOREIGN = ("TOOLTEL_", "OTEL_", "PROMETHEUS_")

# What a shell starts in the background ignores interrupts, and so would the programs that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: a shared machine's pauses are not the code's. Failures print how to replay them.
settings.register_profile("shared", deadline=None, print_blob=True)
settings.load_profile("shared")


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own settings change no test."""
    for name in list(os.environ):
        if name.startswith(FOREIGN) and name != "NO_SKIP":
            monkeypatch.delenv(name)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test of `servers` once per expected generation, and on what PATH has where one is missing."""
    if "servers" in metafunc.fixturenames:
        found = [servers.name for servers in generations()]
        names = [*EXPECTED, *(name for name in found if name not in EXPECTED)]
        metafunc.parametrize("servers", names, indirect=True)


# Rooms whose every test starts programs or servers, plays conversations by the hundred, or fills the stack at each of
# its depths: not for `make quick`.
PATIENT = (
    "tests/cli/test_sidecar.py",
    "tests/demo/",
    "tests/exposition/test_serving.py",
    "tests/multiprocess/",
    "tests/replay/",
    "tests/sidecar/test_processes.py",
    "tests/sidecar/test_serving.py",
    "tests/top/test_screen.py",
    "tests/wrap/test_recursion.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark whatever uses a real server, and whatever takes its time, so that nobody can forget it."""
    for item in items:
        if {"servers", "newest_servers"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("server")
        if item.nodeid.startswith(PATIENT):
            item.add_marker("slow")


@pytest.fixture
def servers(request: pytest.FixtureRequest) -> Servers:
    """One generation of real binaries."""
    return next((found for found in generations() if found.name == request.param), None) or _missing(request.param)


@pytest.fixture
def newest_servers() -> Servers:
    """The newest generation of real binaries, for tests that one generation can prove."""
    found = {servers.name: servers for servers in generations()}
    name = next((name for name in ("new", "path", "stable") if name in found), None)
    return found[name] if name else _missing("any")


def _missing(name: str) -> NoReturn:
    message = f"no Prometheus and Alertmanager binaries ({name}): {HOW_TO_GET}"
    if NO_SKIP:
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


@pytest.fixture
def clock() -> FakeClock:
    """The clock of `tel`: it stands still until a test advances it."""
    from tooltel.testing import FakeClock

    return FakeClock(1000.0)


@pytest.fixture
def tel(clock: FakeClock) -> Iterator[Tooltel]:
    """A Tooltel on a registry of its own. Afterwards nothing runs any more, and the context is clean."""
    from opentelemetry.trace import INVALID_SPAN, get_current_span
    from prometheus_client import CollectorRegistry

    from tooltel import Catalog, HouseRules, Profile, Tooltel
    from tooltel.call import current_call, current_session
    from tooltel.errors import Level
    from tooltel.testing import parse_samples

    catalog = Catalog(
        profiles=[Profile("support", "desk"), Profile("sales", "desk")],
        house=HouseRules(levels={"description": Level.OFF}),
        open=True,
    )
    made = Tooltel(catalog, registry=CollectorRegistry(), clock=clock)
    yield made
    assert current_call() is None, "a call leaked into the test's context"
    assert current_session() is None, "a session leaked into the test's context"
    assert get_current_span() is INVALID_SPAN, "a span leaked into the test's context"
    running = {key: value for key, value in parse_samples(made.view).items() if key[0] == "tooltel_tool_calls_active"}
    assert not any(running.values()), "a call is still counted as running"


@pytest.fixture
def seen(tel: Tooltel) -> Iterator[Captured]:
    """What `tel` records during the test."""
    from tooltel.testing import capture

    with capture(tel) as captured:
        yield captured
