"""What every test shares: an environment of its own, steady property tests, and real servers."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest
from hypothesis import settings

from tests.servers import EXPECTED, HOW_TO_GET, Servers, generations

NO_SKIP = os.environ.get("TOOLTEL_NO_SKIP") == "1"
FOREIGN = ("TOOLTEL_", "OTEL_", "PROMETHEUS_")

# No deadline: a shared machine's pauses are not the code's. Failures print how to replay them.
settings.register_profile("shared", deadline=None, print_blob=True)
settings.load_profile("shared")


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own settings change no test."""
    for name in list(os.environ):
        if name.startswith(FOREIGN) and name != "TOOLTEL_NO_SKIP":
            monkeypatch.delenv(name)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test of `servers` once per expected generation, and on what PATH has where one is missing."""
    if "servers" in metafunc.fixturenames:
        found = [servers.name for servers in generations()]
        names = [*EXPECTED, *(name for name in found if name not in EXPECTED)]
        metafunc.parametrize("servers", names, indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark whatever uses a real server, so that nobody can forget it."""
    for item in items:
        if {"servers", "newest_servers"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("server")


@pytest.fixture
def servers(request: pytest.FixtureRequest) -> Servers:
    """One generation of real binaries."""
    return next((found for found in generations() if found.name == request.param), None) or _missing(
        request.param
    )


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
