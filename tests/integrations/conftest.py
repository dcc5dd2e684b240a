"""Each framework's tests run where that framework is installed: in its own environments, by `make matrix`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# Folder below this one -> the module without which its tests cannot run.
FRAMEWORKS = {
    "adk": "google.adk",
    "anthropic": "anthropic",
    "fastmcp": "fastmcp",
    "langchain": "langchain",
    "mcp": "mcp",
    "openai_agents": "agents",
    "pydantic_ai": "pydantic_ai",
}


class Elsewhere(pytest.Directory):
    """A folder whose framework is not here: one line in the report, and nothing of it is imported."""

    def collect(self) -> NoReturn:
        name = self.path.name
        pytest.skip(f"{FRAMEWORKS[name]} is not installed here; `make matrix` runs tests/integrations/{name}")


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Skip a framework's folder whole where the framework is missing, also under NO_SKIP: the matrix runs it."""
    if path.parent.name == "integrations" and path.name in FRAMEWORKS and not _is_installed(FRAMEWORKS[path.name]):
        skipped: pytest.Collector = Elsewhere.from_parent(parent, path=path)
        return skipped
    return None


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a parent, as `google`
        return False
