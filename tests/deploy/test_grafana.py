"""Grafana finds the dashboards, they find their data, and metrics, traces and logs find each other."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.deploy.stack import ROOT, config, environment, mounts, services
from tooltel import signals
from tooltel.artifacts import RenderOptions
from tooltel.artifacts.dashboards import links
from tooltel.demo.duty.serving import RUNBOOKS
from tooltel.demo.telemetry import CATALOG, SERVICE
from tooltel.loading import load

# The keys that https://grafana.com/docs/grafana/latest/administration/provisioning/ describes.
SOURCE_KEYS = {
    "name", "type", "uid", "access", "orgId", "url", "user", "database", "basicAuth", "basicAuthUser",
    "withCredentials", "isDefault", "jsonData", "secureJsonData", "version", "editable",
}  # fmt: skip
PROVIDER_KEYS = {
    "name", "orgId", "folder", "folderUid", "type", "disableDeletion", "updateIntervalSeconds", "allowUiUpdates",
    "options",
}  # fmt: skip
# And those of each data source's own page there.
JSON_KEYS = {
    "prometheus": {
        "httpMethod", "manageAlerts", "allowAsRecordingRulesTarget", "prometheusType", "prometheusVersion",
        "timeInterval", "queryTimeout", "cacheLevel", "incrementalQuerying", "incrementalQueryOverlapWindow",
        "disableMetricsLookup", "disableRecordingRules", "customQueryParameters", "exemplarTraceIdDestinations",
        "defaultEditor",
    },
    "tempo": {
        "tracesToLogsV2", "tracesToMetrics", "tracesToProfiles", "serviceMap", "nodeGraph", "search", "traceQuery",
        "spanBar", "streamingEnabled",
    },
    "loki": {"maxLines", "timeout", "derivedFields", "manageAlerts"},
    "alertmanager": {"implementation", "handleGrafanaManagedAlerts"},
}  # fmt: skip
FLEET = ROOT / "dashboards" / f"{links.FLEET}.json"


def sources() -> dict[str, dict[str, Any]]:
    """The provisioned data sources by type."""
    found = config("grafana/datasources/datasources.yml")
    assert set(found) == {"apiVersion", "datasources"}
    assert found["apiVersion"] == 1
    return {each["type"]: each for each in found["datasources"]}


def settings() -> dict[str, str]:
    """Grafana's environment."""
    found: dict[str, str] = services()["grafana"]["environment"]
    return found


@pytest.mark.parametrize("kind", JSON_KEYS)
def test_a_data_source_has_only_keys_that_are_documented(kind: str) -> None:
    source = sources()[kind]
    assert set(source) <= SOURCE_KEYS
    assert set(source["jsonData"]) <= JSON_KEYS[kind]
    assert (source["access"], source["editable"]) == ("proxy", False)


def test_uids_are_fixed_and_every_link_between_data_sources_finds_its_end() -> None:
    uids = {source["uid"] for source in sources().values()}
    assert len(uids) == len(sources())
    linked = re.findall(
        r"datasourceUid: (\S+)", (ROOT / "deploy/compose/grafana/datasources/datasources.yml").read_text()
    )
    assert set(linked) == {"tempo", "loki"} <= uids


def test_an_exemplar_leads_to_its_trace_by_the_label_that_the_recorder_writes() -> None:
    (destination,) = sources()["prometheus"]["jsonData"]["exemplarTraceIdDestinations"]
    assert destination["name"] == signals.KEY_TRACE_ID
    assert destination["datasourceUid"] == sources()["tempo"]["uid"]


def test_some_panel_shows_exemplars() -> None:
    boards = [json.loads(path.read_text("utf-8")) for path in (ROOT / "dashboards").glob("*.json")]
    asked = [target for board in boards for panel in board["panels"] for target in panel.get("targets", ())]
    assert any(target.get("exemplar") for target in asked)


def test_a_trace_leads_to_the_lines_of_its_service_and_its_id() -> None:
    leads = sources()["tempo"]["jsonData"]["tracesToLogsV2"]
    assert leads["datasourceUid"] == sources()["loki"]["uid"]
    # Loki makes service.name the label service_name, and keeps an OTLP record's trace id beside its line.
    assert leads["tags"] == [{"key": "service.name", "value": "service_name"}]
    # A dollar is doubled where Grafana would put in a variable of its environment.
    assert leads["query"] == f'{{$${{__tags}}}} | {signals.KEY_TRACE_ID}="$${{__trace.traceId}}"'
    assert leads["customQuery"] is True
    assert SERVICE


def test_a_line_leads_to_its_trace() -> None:
    (field,) = sources()["loki"]["jsonData"]["derivedFields"]
    assert (field["matcherType"], field["matcherRegex"]) == ("label", signals.KEY_TRACE_ID)
    assert field["datasourceUid"] == sources()["tempo"]["uid"]
    assert field["url"] == "$${__value.raw}"


def test_the_dashboards_find_prometheus_without_being_told() -> None:
    """Their variable offers data sources of a type; the default one is taken."""
    assert sources()["prometheus"]["isDefault"] is True
    assert not any(source.get("isDefault") for kind, source in sources().items() if kind != "prometheus")
    for path in (ROOT / "dashboards").glob("*.json"):
        variables = json.loads(path.read_text("utf-8"))["templating"]["list"]
        (chooser,) = [each for each in variables if each["type"] == "datasource"]
        assert (chooser["name"], chooser["query"]) == (links.DATASOURCE, "prometheus")


def test_rates_are_never_asked_over_less_than_a_scrape() -> None:
    scraped = config("prometheus/prometheus.yml")["global"]["scrape_interval"]
    assert sources()["prometheus"]["jsonData"]["timeInterval"] == scraped


def test_the_provider_reads_the_repositorys_dashboards_and_lets_nobody_change_them() -> None:
    found = config("grafana/dashboards/dashboards.yml")
    (provider,) = found["providers"]
    assert found["apiVersion"] == 1
    assert set(provider) <= PROVIDER_KEYS
    assert (provider["type"], provider["allowUiUpdates"], provider["disableDeletion"]) == ("file", False, True)
    (mount,) = [each for each in mounts("grafana") if each.target == provider["options"]["path"]]
    assert mount.source == ROOT / "dashboards"
    assert FLEET.exists()


def test_files_lie_where_grafana_looks_for_them() -> None:
    targets = {mount.target: mount.source for mount in mounts("grafana")}
    for kind in ("datasources", "dashboards"):
        assert targets[f"/etc/grafana/provisioning/{kind}"] == ROOT / "deploy" / "compose" / "grafana" / kind


def test_home_is_the_fleet() -> None:
    path = settings()["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    (mount,) = [each for each in mounts("grafana") if path.startswith(each.target)]
    assert mount.source / path.removeprefix(f"{mount.target}/") == FLEET
    assert json.loads(FLEET.read_text("utf-8"))["uid"] == links.FLEET


def test_anybody_on_this_machine_may_look_and_nobody_may_log_in() -> None:
    wanted = {
        "GF_AUTH_ANONYMOUS_ENABLED": "true", "GF_AUTH_ANONYMOUS_ORG_ROLE": "Viewer",
        "GF_AUTH_DISABLE_LOGIN_FORM": "true", "GF_AUTH_BASIC_ENABLED": "false",
        "GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION": "true", "GF_USERS_ALLOW_SIGN_UP": "false",
    }  # fmt: skip
    assert wanted.items() <= settings().items()


def test_links_of_alerts_and_dashboards_lead_into_this_stack() -> None:
    options = RenderOptions.from_catalog(load(CATALOG))
    assert (
        options.dashboards_url
        == f"http://127.0.0.1:{environment()['GRAFANA_PORT']}"
        == settings()["GF_SERVER_ROOT_URL"]
    )
    assert options.runbooks_url == f"http://127.0.0.1:{environment()['PAGER_PORT']}{RUNBOOKS}"
