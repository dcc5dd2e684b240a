"""Every alert reaches the team that owns it, by its severity, and nothing mutes what it should not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.artifacts.amtool import complaint_of_file, routed
from tooltel.artifacts import render
from tooltel.artifacts.folder import compare, write
from tooltel.artifacts.options import RenderOptions
from tooltel.artifacts.routes import CONFIG, TESTS, render_routes
from tooltel.artifacts.routes.config import build_config
from tooltel.catalog import Catalog, Owner
from tooltel.errors import CatalogError

if TYPE_CHECKING:
    from tests.servers import Servers

AMLINT = Path(sys.executable).with_name("amlint")

HOSTILE = (
    'quote"d', "back\\slash", "end\\", "{{ .Labels.owner }}", "{", "}", "a,b", "=~.*", "Ünïcode ☃ 日本 😀",
    "on", "1e3", "null", "~", "it's", "#comment", "a: b", "- item", "*alias", "!tag", "%", "`", "@", "|", ">",
    "\\n", '\\"', '"', "''", "a-page", "-page", "watchdog", "platform-ticket", "$(sh)", "x" * 128,
)  # fmt: skip


def receiver(name: str) -> dict[str, Any]:
    return {"webhook_configs": [{"url": f"http://127.0.0.1:9/{name}", "send_resolved": True}]}


TEAMS = (
    Owner("payments", page=receiver("1"), ticket=receiver("2"), digest=receiver("3")),
    Owner("orders", page=receiver("4"), ticket=receiver("5")),
    Owner("knowledge", page=receiver("6")),
    Owner("platform", page=receiver("7"), ticket=receiver("8")),
    Owner("tickets", ticket=receiver("9")),
    Owner("silent"),
)
PLAIN = Catalog(owners=TEAMS, platform_owner="platform", security_owner="payments", source="tools.toml")
STRANGE = Catalog(
    owners=[*TEAMS, *(Owner(name, page=receiver("h"), ticket=receiver("h")) for name in HOSTILE)],
    platform_owner="platform",
)
FLEET = RenderOptions(
    cluster_label="cluster", labels={"env": "prod"}, alert_prefix="Acme", deadman=receiver("d"),
    alertmanager={"global": {"smtp_smarthost": "host:25"}},
)  # fmt: skip

CASES = {"plain": (PLAIN, RenderOptions()), "strange": (STRANGE, RenderOptions()), "fleet": (PLAIN, FLEET)}


@pytest.fixture(params=CASES)
def rendered(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with the rendered files of one catalog."""
    for path, text in render_routes(*CASES[request.param]).items():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return tmp_path


def cases(folder: Path, key: str) -> list[dict[str, Any]]:
    loaded = yaml.safe_load((folder / TESTS).read_text(encoding="utf-8"))
    return [case for case in loaded["tests"] if key in case]


def routes_of(catalog: Catalog, options: RenderOptions | None = None) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load(render_routes(catalog, options or RenderOptions())[CONFIG])
    return config


# --- real programs -----------------------------------------------------------------------------------


def test_amtool_accepts_the_configuration(servers: Servers, rendered: Path) -> None:
    assert complaint_of_file(servers, rendered / CONFIG) == ""


def test_amtool_sends_every_case_to_the_expected_receiver(servers: Servers, rendered: Path) -> None:
    for case in cases(rendered, "receivers"):
        (expected,) = case["receivers"]
        assert routed(servers, rendered / CONFIG, case["labels"], expected=expected) == expected, case["name"]


def test_amtool_would_notice_a_wrong_receiver(newest_servers: Servers, rendered: Path) -> None:
    labels = {"owner": "payments", "severity": "page"}
    with pytest.raises(AssertionError, match="WARNING: Expected receivers did not match"):
        routed(newest_servers, rendered / CONFIG, labels, expected="orders-page")


def amlint(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([AMLINT, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def test_the_rendered_tests_pass_and_reach_every_route(rendered: Path) -> None:
    done = amlint(rendered, "test", "--fail-under=100", CONFIG, TESTS)
    assert done.returncode == 0, done.stdout + done.stderr


# What amlint says, and why it is meant so. With neither a cluster nor a static label there is one fleet, and
# all of it is down; without a receiver for the dead-man's switch its alert has to go nowhere.
ARGUED = {
    "plain": {("inhibit-no-equal", "inhibit_rules[1]"), ("empty-receiver", "receivers[watchdog]")},
    "strange": {("inhibit-no-equal", "inhibit_rules[1]"), ("empty-receiver", "receivers[watchdog]")},
    "fleet": set(),
}


@pytest.mark.parametrize("case", CASES)
def test_amlint_finds_nothing_but_what_is_argued_here(case: str, tmp_path: Path) -> None:
    path = tmp_path / "alertmanager.yml"
    path.write_text(render_routes(*CASES[case])[CONFIG], encoding="utf-8")
    found = json.loads(amlint(tmp_path, "check", "--strict", "--format=json", path.name).stdout)
    assert {(finding["code"], finding["where"]) for finding in found} == ARGUED[case]


def test_amlint_finds_every_alert_of_the_routes_in_the_rules(tmp_path: Path) -> None:
    write(compare(render(PLAIN, only=("rules", "routes")), tmp_path), tmp_path)
    said = amlint(tmp_path, "check", "--strict", "--format=json", "--rules=alerts/rules/*.yml", CONFIG).stdout
    known = {*ARGUED["plain"], ("alert-hits-default-receiver", "route")}  # their owner is a label of their series
    assert {(finding["code"], finding["where"]) for finding in json.loads(said)} == known


@pytest.mark.parametrize(
    ("rule", "lost", "name"),
    [
        (0, 'tool!=""', "a page mutes no ticket where both lack tool"),
        (0, 'owner!=""', "a page mutes no ticket where both lack owner"),
        (0, 'cluster!=""', "a page mutes no ticket where both lack cluster"),
        (1, 'env!=""', "a fleet down mutes nothing where both lack env"),
    ],
)
def test_the_rendered_tests_fail_without_one_of_the_matchers_that_demand_a_label(
    rule: int, lost: str, name: str, tmp_path: Path
) -> None:
    config = build_config(PLAIN, FLEET)
    for side in ("source_matchers", "target_matchers"):
        config["inhibit_rules"][rule][side].remove(lost)
    (tmp_path / "mutant.yml").write_text(yaml.safe_dump(config))
    (tmp_path / "tests.yml").write_text(render_routes(PLAIN, FLEET)[TESTS])
    results = json.loads(amlint(tmp_path, "test", "--format=json", "mutant.yml", "tests.yml").stdout)
    assert [case["name"] for case in results if not case["passed"]] == [name]


# --- the tree ----------------------------------------------------------------------------------------


def test_receivers_are_passed_through_as_they_are() -> None:
    body = {
        "pagerduty_configs": [{"routing_key_file": "/etc/key", "details": {"x": '{{ .CommonLabels }} "q"'}}],
        "slack_configs": [{"api_url_file": "/etc/slack", "channel": "#a", "actions": [{"text": "b"}]}],
    }  # fmt: skip
    config = routes_of(Catalog(owners=[Owner("p", page=body)], platform_owner="p"))
    assert config["receivers"][0] == {"name": "p-page", **body}


def test_a_missing_ticket_or_digest_receiver_means_the_owners_page() -> None:
    config = routes_of(PLAIN)
    (knowledge,) = [route for route in config["route"]["routes"] if route["matchers"] == ['owner="knowledge"']]
    assert knowledge["receiver"] == "knowledge-page"
    assert {route["receiver"] for route in knowledge["routes"]} == {"knowledge-page"}


def test_a_missing_digest_receiver_means_the_owners_ticket_so_that_housekeeping_wakes_nobody() -> None:
    catalog = Catalog(
        owners=[Owner("kb", page=receiver("1"), ticket=receiver("2")), Owner("p", page=receiver("3"))],
        platform_owner="p",
    )
    (kb,) = [route for route in routes_of(catalog)["route"]["routes"] if route["matchers"] == ['owner="kb"']]
    by_severity = {route["matchers"][0]: route["receiver"] for route in kb["routes"]}
    assert by_severity['severity="info"'] == "kb-ticket"
    assert by_severity['severity="page"'] == "kb-page"


def test_an_owner_without_a_page_receiver_is_paged_through_the_platform() -> None:
    config = routes_of(PLAIN)
    (tickets,) = [route for route in config["route"]["routes"] if route["matchers"] == ['owner="tickets"']]
    assert tickets["receiver"] == "tickets-ticket"
    assert tickets["routes"][0]["receiver"] == "platform-page"


def test_an_owner_without_receivers_is_served_by_the_platforms_routes() -> None:
    matchers = [route["matchers"] for route in routes_of(PLAIN)["route"]["routes"]]
    assert ['owner="silent"'] not in matchers
    assert matchers[-2:] == [['severity="page"'], ['severity="info"']]
    assert routes_of(PLAIN)["route"]["receiver"] == "platform-ticket"


def test_no_two_owners_receivers_share_a_name() -> None:
    names = [receiver["name"] for receiver in routes_of(STRANGE)["receivers"]]
    assert len(names) == len(set(names))


def test_pages_wait_least_and_digests_longest() -> None:
    (payments,) = [route for route in routes_of(PLAIN)["route"]["routes"] if route["matchers"] == ['owner="payments"']]
    page, digest = payments["routes"]
    assert (page["group_wait"], payments["group_wait"], digest["group_wait"]) == ("10s", "1m", "10m")
    assert (page["repeat_interval"], payments["repeat_interval"], digest["repeat_interval"]) == (
        "4h",
        "1d",
        "4d",
    )


def test_alerts_of_two_clusters_are_never_grouped_together() -> None:
    def groups(node: dict[str, Any]) -> list[list[str]]:
        return [node["group_by"], *(group for child in node.get("routes", []) for group in groups(child))]

    for group in groups(routes_of(PLAIN, FLEET)["route"]):
        assert group[-2:] == ["cluster", "env"]


def test_the_dead_mans_switch_has_the_given_receiver_and_no_other_alert_has_it() -> None:
    config = routes_of(PLAIN, FLEET)
    first, *others = config["route"]["routes"]
    assert first["matchers"] == ['alertname="AcmeWatchdog"']
    assert first["receiver"] == "watchdog"
    assert "watchdog" not in json.dumps(others)
    assert {"name": "watchdog", **receiver("d")} in config["receivers"]


def test_security_alerts_reach_their_owner_by_the_label_alone(servers: Servers, tmp_path: Path) -> None:
    path = tmp_path / "alertmanager.yml"
    path.write_text(render_routes(PLAIN, RenderOptions())[CONFIG])
    labels = {
        "alertname": "TooltelIrreversibleCallRefused",
        "severity": "ticket",
        "owner": "payments",
        "tool": "t",
    }
    assert routed(servers, path, labels, expected="payments-ticket") == "payments-ticket"


def test_the_route_works_below_the_one_of_an_alertmanager_that_others_share(servers: Servers, tmp_path: Path) -> None:
    """As the comment at the top of the file advises."""
    ours = routes_of(PLAIN)
    below = {**ours["route"], "matchers": ['alertname=~"Tooltel.*"']}
    shared = {"receiver": "theirs", "routes": [below]}
    path = tmp_path / "alertmanager.yml"
    path.write_text(json.dumps({**ours, "route": shared, "receivers": [*ours["receivers"], {"name": "theirs"}]}))
    assert complaint_of_file(servers, path) == ""
    labels = {"alertname": "TooltelToolErrorBudgetBurn", "owner": "payments", "severity": "page"}
    assert routed(servers, path, labels, expected="payments-page") == "payments-page"
    assert routed(servers, path, {**labels, "owner": "x"}, expected="platform-page") == "platform-page"
    assert routed(servers, path, {**labels, "alertname": "Theirs"}, expected="theirs") == "theirs"


def test_an_inhibit_rule_has_no_name_which_older_alertmanagers_refuse() -> None:
    assert all(
        set(rule) <= {"source_matchers", "target_matchers", "equal"} for rule in routes_of(PLAIN)["inhibit_rules"]
    )


def test_every_label_in_equal_is_demanded_of_source_and_target() -> None:
    for options in (RenderOptions(), FLEET):
        for rule in routes_of(PLAIN, options)["inhibit_rules"]:
            for side in ("source_matchers", "target_matchers"):
                demanded = {f'{label}!=""' for label in rule.get("equal", []) if label != "alertname"}
                assert demanded <= set(rule[side])
                assert any(each.startswith("alertname=") for each in rule[side])


# --- texts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_the_text_reads_back_as_what_was_built(case: str) -> None:
    catalog, options = CASES[case]
    text = render_routes(catalog, options)[CONFIG]
    assert yaml.safe_load(text) == json.loads(json.dumps(build_config(catalog, options), default=dict))


def test_the_first_line_says_that_the_file_is_generated_and_from_what() -> None:
    for text in render_routes(PLAIN, RenderOptions()).values():
        assert text.startswith("# Generated by `tooltel render` from tools.toml: ")


def test_problems_of_receivers_keep_it_from_being_rendered() -> None:
    catalog = Catalog(
        owners=[Owner("p", page={"webhook_configs": [{}]}), Owner("q", page={"x": 1})], platform_owner="p"
    )
    with pytest.raises(CatalogError) as caught:
        render_routes(catalog, RenderOptions())
    assert [problem.rule for problem in caught.value.problems] == ["missing_field", "unknown_integration"]
