"""The runner's own noise is the host's business: it warns of each name that is no tool, and logs each crash."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "integrations/anthropic" in item.path.as_posix():
            item.add_marker(pytest.mark.filterwarnings("ignore:Tool '.*' not found in tool runner:UserWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore:(?s)Tool .* not found in tool runner:UserWarning"))
