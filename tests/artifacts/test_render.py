"""What goes with a catalog is complete, the same every time, quick, and refused with every reason at once."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tooltel.demo
from tooltel.artifacts import KINDS, RenderOptions, find_artifact_problems, render
from tooltel.artifacts.folder import compare, write
from tooltel.catalog import Catalog, Owner, Profile, Tool
from tooltel.errors import CatalogError, MissingExtraError
from tooltel.loading import load

EXAMPLE = Path(tooltel.demo.__file__).with_name("tools.toml")
PAGER = {"pagerduty_configs": [{"routing_key_file": "/etc/key"}]}
CHAT = {"slack_configs": [{"api_url_file": "/etc/slack", "channel": "#team"}]}


def fleet(tools: int, owners: int) -> Catalog:
    """A catalog in which every tool has everything that a rule may be about."""
    teams = [Owner(f"team_{at:02}", page=PAGER, ticket=CHAT, digest=CHAT) for at in range(owners)]
    profiles = [Profile(f"profile_{at:02}", f"team_{at % owners:02}", 20_000) for at in range(20)]
    return Catalog(
        tools=[
            Tool(
                f"tool_{at:04}", f"team_{at % owners:02}", ("read", "write", "irreversible")[at % 3],
                profiles=(f"profile_{at % 20:02}",), description="What it does, in forty characters or more.",
                aliases=(f"alias_{at:04}",), retired=(f"retired_{at:04}",),
                objective=(0.99, 0.95, 0.999)[at % 3], latency_bound=(0.32, 0.64, 1.28, 2.56)[at % 4],
            )
            for at in range(tools)
        ],
        owners=teams, profiles=profiles, platform_owner="team_00", security_owner="team_01",
    )  # fmt: skip


def test_the_example_catalog_is_rendered_in_every_kind() -> None:
    catalog = load(EXAMPLE)
    files = render(catalog)
    assert {"alerts/alertmanager.yml", "alerts/tests/routes.yml"} <= set(files)
    for kind in KINDS:
        part = render(catalog, only=[kind])
        assert part
        assert part.items() <= files.items()
    assert all(text.endswith("\n") and not text.endswith("\n\n") for text in files.values())


def test_every_file_says_that_it_is_generated_so_that_it_may_be_written_again(tmp_path: Path) -> None:
    files = render(load(EXAMPLE))
    write(compare(files, tmp_path), tmp_path)
    edited = {path: f"{text}\n" for path, text in files.items()}
    assert write(compare(edited, tmp_path), tmp_path) == sorted(files)


def test_the_same_bytes_come_out_whatever_the_seed_of_hashes() -> None:
    program = (
        "import hashlib, sys; from tooltel.artifacts import render; from tooltel.loading import load\n"
        "files = render(load(sys.argv[1]))\n"
        "print(hashlib.sha256(repr(list(files.items())).encode()).hexdigest())"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program, EXAMPLE], env={**os.environ, "PYTHONHASHSEED": seed}, check=True,
            capture_output=True, text=True,
        ).stdout.strip()
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert said == {hashlib.sha256(repr(list(render(load(EXAMPLE)).items())).encode()).hexdigest()}


def test_the_order_of_owners_in_the_catalog_does_not_matter_to_the_routes() -> None:
    catalog = load(EXAMPLE)
    turned = Catalog(
        tools=catalog.tools, owners=reversed(list(catalog.owners.values())), profiles=catalog.profiles,
        platform_owner=catalog.platform_owner, security_owner=catalog.security_owner, render=catalog.render,
        source=catalog.source,
    )  # fmt: skip
    assert render(turned, only=["routes"]) == render(catalog, only=["routes"])


def test_a_fleet_of_a_thousand_tools_and_fifty_owners_is_rendered_within_five_seconds() -> None:
    catalog = fleet(1000, 50)
    start = time.perf_counter()
    files = render(catalog)
    assert time.perf_counter() - start < 5
    assert len(files) >= 6


def test_problems_of_catalog_options_and_receivers_are_listed_at_once() -> None:
    catalog = Catalog(
        tools=[Tool("a_tool", "nobody", description="Nobody owns it, which is the point of it all here.")],
        owners=[Owner("platform", page={"webhook_configs": [{"url_file": "/etc/url"}]})],
        platform_owner="platform",
        render={"job": "", "alertmanger_version": "0.33", "alertmanager_version": "0.25"},
    )
    with pytest.raises(CatalogError) as caught:
        render(catalog)
    assert {(problem.rule, problem.path) for problem in caught.value.problems} == {
        ("unknown_owner", "tools.a_tool.owner"), ("bad_option", "render.job"),
        ("unknown_key", "render.alertmanger_version"),
        ("newer_alertmanager", "owners.platform.page.webhook_configs[0].url_file"),
    }  # fmt: skip


def test_a_place_that_the_catalogs_own_checks_complain_about_is_named_once() -> None:
    catalog = Catalog(owners=[Owner("platform", page={"pager_configs": [{}]})], platform_owner="platform")
    with pytest.raises(CatalogError) as caught:
        render(catalog)
    assert [problem.path for problem in caught.value.problems] == ["owners.platform.page.pager_configs"]


def test_receivers_are_judged_by_the_version_even_where_another_option_is_wrong() -> None:
    owner = Owner("platform", page={"webhook_configs": [{"url_file": "/etc/url"}]})
    catalog = Catalog(owners=[owner], platform_owner="platform", render={"alertmanager_version": "0.33", "job": 5})
    assert [problem.path for problem in find_artifact_problems(catalog)] == ["render.job"]


def test_warnings_keep_nothing_from_being_rendered() -> None:
    tool = Tool("a_tool", "platform", description="short")
    house = load(EXAMPLE).house.relaxed()
    catalog = Catalog(tools=[tool], owners=[Owner("platform", page=PAGER)], platform_owner="platform", house=house)
    assert render(catalog, only=["routes"])


def test_given_options_are_taken_instead_of_the_catalogs() -> None:
    catalog = Catalog(owners=[Owner("platform", page=PAGER)], platform_owner="platform", render={"job": 5})
    assert (
        "AcmeWatchdog"
        in render(catalog, RenderOptions(alert_prefix="Acme"), only=["routes"])["alerts/alertmanager.yml"]
    )


@pytest.mark.parametrize(
    ("package", "kind"), [("yaml", "rules"), ("yaml", "routes"), ("grafana_foundation_sdk", "dashboards")]
)
def test_a_missing_package_is_told_with_the_line_that_installs_it(
    package: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == package or "artifacts.dashboards" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"in tooltel's clone, pip install '\.\[render\]'"):
        render(load(EXAMPLE), only=[kind])
