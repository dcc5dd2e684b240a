"""A catalog with hostile names is refused, or rendered to files that real servers accept and that mean what it says."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.artifacts.amtool import complaint_of_file, routed
from tooltel.artifacts import render
from tooltel.artifacts.folder import compare, write
from tooltel.catalog import Catalog, HouseRules, Owner, Profile, Tool
from tooltel.errors import CatalogError, Level

if TYPE_CHECKING:
    from tests.servers import Servers

PAGER = {"pagerduty_configs": [{"routing_key_file": "/etc/key"}]}
RELAXED = HouseRules(levels={"name_pattern": Level.OFF, "description": Level.OFF})

# What ends a string, a template, a matcher, a regular expression, a comment or a line somewhere on the way.
FRAGMENTS = (
    '"', "'", "`", "\\", "{{", "}}", "{", "}", "$labels", "$value", "$1", "[5m]", "(", ")", "|", ".*", "^", "+", "?",
    "#", ": ", "- ", ",", "=", "=~", "!=", "%", "%s", "%q", "<", ">", "&", "/", "é", "日本", "😀",
    "\u0301", "a", "_", "0",
    " ",
    "\\n", "\\x00", '"}', '\\"', "{{ end }}", "{{/*", "*/}}", "#{", "${", "on", "null", "~", "@", "*", "!",
)  # fmt: skip
NAMES = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=6).map("".join)
ANYTHING = st.text(max_size=40) | NAMES


@st.composite
def catalogs(draw: st.DrawFn, names: st.SearchStrategy[str]) -> Catalog:
    """Catalogs that would be fine but for their names."""
    owners = draw(st.lists(names, min_size=2, max_size=8, unique=True))
    profiles = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    tools = draw(st.lists(names, min_size=1, max_size=8, unique=True))
    return Catalog(
        owners=[Owner(name, page=PAGER) for name in owners],
        profiles=[Profile(name, owners[at % len(owners)], 9000) for at, name in enumerate(profiles)],
        tools=[
            Tool(
                name, owners[at % len(owners)], ("irreversible", "write", "read")[at % 3], profiles=(profiles[0],),
                objective=0.99, latency_bound=(0.32, 2.56)[at % 2],
            )
            for at, name in enumerate(tools)
        ],
        platform_owner=owners[0], security_owner=owners[1], house=RELAXED,
    )  # fmt: skip


def printable(name: str) -> bool:
    return name.isprintable() and name == name.strip() and name not in {"", "other", "none", "unowned"}


def rendered(catalog: Catalog, folder: Path) -> None:
    files = render(catalog, only=("rules", "routes"))
    write(compare(files, folder), folder)


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.slow
@given(catalog=catalogs(ANYTHING))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_catalog_is_refused_with_a_reason_or_rendered_as_yaml(catalog: Catalog) -> None:
    try:
        files = render(catalog, only=("rules", "routes"))
    except CatalogError as error:
        said = str(error).split("\n")
    else:
        said = []
        for text in files.values():
            assert isinstance(yaml.safe_load(text), dict)
    assert all(line.isprintable() for line in said)


@pytest.mark.slow
@given(catalog=catalogs(NAMES.filter(printable)))
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
def test_real_servers_accept_what_hostile_names_are_rendered_to_and_route_by_them(
    servers: Servers, catalog: Catalog
) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rendered(catalog, folder)
        assert run(servers.promtool, "check", "rules", *sorted(folder.glob("alerts/rules/*.yml"))) == ""
        config = folder / "alerts/alertmanager.yml"
        assert complaint_of_file(servers, config) == ""
        for owner in catalog.owners:
            receiver = f"{owner}-page"
            labels = {"owner": owner, "severity": "page", "alertname": "TooltelToolErrorBudgetBurn"}
            assert routed(servers, config, labels, expected=receiver) == receiver


@pytest.mark.slow
@given(catalog=catalogs(NAMES.filter(printable)))
@settings(max_examples=4, suppress_health_check=list(HealthCheck))
def test_the_rendered_rule_tests_of_hostile_names_pass(newest_servers: Servers, catalog: Catalog) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rendered(catalog, folder)
        tests = [folder / f"alerts/tests/{name}.yml" for name in ("security", "contract_days")]  # the quick ones
        assert run(newest_servers.promtool, "test", "rules", *tests) == ""
