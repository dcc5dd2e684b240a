"""Which versions of LangChain and LangGraph these tests ran with."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tools.matrix import ENVIRONMENTS

HERE = {environment.name: environment for environment in ENVIRONMENTS}.get(Path(sys.prefix).name)


@pytest.mark.parametrize("pin", HERE.requirements if HERE is not None else ())
def test_an_environment_of_the_matrix_holds_the_version_that_its_row_names(pin: str) -> None:
    name, _, wanted = pin.partition("==")
    assert version(name) == wanted


def test_the_table_names_versions_that_the_matrix_runs() -> None:
    from tooltel.integrations.compatibility import LANGCHAIN, LANGGRAPH

    pins = {pin for environment in ENVIRONMENTS if environment.extra == "langchain" for pin in environment.requirements}
    for framework, rows in (("langchain", LANGCHAIN), ("langgraph", LANGGRAPH)):
        assert {f"{framework}=={each}" for each in rows[0].versions} <= pins
