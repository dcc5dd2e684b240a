"""The table of receivers' fields says what real Alertmanagers accept."""

from __future__ import annotations

import re
import subprocess
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from tests.artifacts.amtool import complaint, with_receiver
from tooltel.artifacts.routes.fields import (
    FIELDS,
    INTEGRATIONS,
    NEEDS,
    Version,
    known,
    read_version,
    table_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers import Servers

UNKNOWN = re.compile(r"field (\S+) not found in type")

# A body that works for each integration, without what it can fall back to.
BODIES: dict[str, dict[str, Any]] = {
    "discord_configs": {"webhook_url": "http://host/path"},
    "email_configs": {"to": "team@example.com", "smarthost": "host:25", "from": "alerts@example.com"},
    "incidentio_configs": {"url": "http://host/path", "alert_source_token": "token"},
    "jira_configs": {"api_url": "http://host/path", "project": "P", "issue_type": "Bug"},
    "mattermost_configs": {"webhook_url": "http://host/path"},
    "msteams_configs": {"webhook_url": "http://host/path"},
    "msteamsv2_configs": {"webhook_url": "http://host/path"},
    "opsgenie_configs": {"api_key": "key"},
    "pagerduty_configs": {"routing_key": "key"},
    "pushover_configs": {"user_key": "key", "token": "token"},
    "rocketchat_configs": {"token": "token", "token_id": "id"},
    "slack_configs": {"api_url": "http://host/path"},
    "sns_configs": {"topic_arn": "arn:aws:sns:us-east-2:1:t", "sigv4": {"region": "us-east-2"}},
    "telegram_configs": {"bot_token": "token", "chat_id": 1},
    "victorops_configs": {"routing_key": "key", "api_key": "key"},
    "webex_configs": {"room_id": "room", "http_config": {"authorization": {"credentials": "secret"}}},
    "webhook_configs": {"url": "http://host/path"},
    "wechat_configs": {"corp_id": "id", "api_secret": "secret"},
}  # fmt: skip
SHARED: dict[str, Any] = {
    "smtp_smarthost": "host:25", "smtp_from": "alerts@example.com", "jira_api_url": "http://host/path",
    "mattermost_webhook_url": "http://host/path", "opsgenie_api_key": "key", "rocketchat_token": "token",
    "rocketchat_token_id": "id", "slack_api_url": "http://host/path", "telegram_bot_token": "token",
    "victorops_api_key": "key", "wechat_api_corp_id": "id", "wechat_api_secret": "secret",
}  # fmt: skip


def version_of(servers: Servers) -> Version:
    said = subprocess.run([servers.amtool, "--version"], capture_output=True, text=True, check=True)
    return read_version((said.stdout or said.stderr).split()[2])


def candidates(servers: Servers) -> list[str]:
    """Every name that Alertmanager's own structures give a YAML field, read from its program."""
    names = re.findall(rb'yaml:"([a-z0-9_]+)[,"]', servers.amtool.read_bytes())
    fields = {name.decode() for name in names} | set(chain.from_iterable(FIELDS.values()))
    return sorted(fields)


def nested(table: str, value: Any) -> dict[str, Any]:
    """A configuration with *value* where *table* stands."""
    if table == "global":
        return with_receiver({}, **{"global": value})
    if table.startswith("global."):
        return with_receiver({}, **{"global": {table.removeprefix("global."): value}})
    if table in {"tls_config", "basic_auth", "authorization", "oauth2"}:
        return nested("http_config", {table: value})
    if table in {"http_config", "sigv4"}:
        return with_receiver({"sns_configs": [{table: value}]})
    integration, *path = table.split(".")
    for field in reversed(path):
        value = {field: value if field in {"threading", "confirm"} else [value]}
    return with_receiver({integration: [value]})


def accepted(servers: Servers, table: str, folder: Path) -> set[str]:
    """The fields that amtool knows in *table*: those of all candidates that it does not call unknown."""
    names = candidates(servers)
    said = complaint(servers, nested(table, dict.fromkeys(names)), folder)
    unknown = set(UNKNOWN.findall(said))
    assert unknown, f"amtool read no field of {table}: {said}"
    return set(names) - unknown


@pytest.mark.parametrize("table", sorted(set(FIELDS) - set(INTEGRATIONS)))
def test_the_table_holds_exactly_the_fields_of_a_real_alertmanager(
    servers: Servers, table: str, tmp_path: Path
) -> None:
    ours = {field for field, since in FIELDS[table].items() if since <= version_of(servers)}
    if ours:
        assert accepted(servers, table, tmp_path) == ours
    else:
        assert UNKNOWN.search(complaint(servers, nested(table, {}), tmp_path)), "the table came later"


def test_every_integration_holds_exactly_the_fields_of_a_real_alertmanager(servers: Servers, tmp_path: Path) -> None:
    version = version_of(servers)
    for integration, since in INTEGRATIONS.items():
        if since <= version:
            ours = {field for field, came in FIELDS[integration].items() if came <= version}
            assert accepted(servers, integration, tmp_path) == ours, integration


def test_the_integrations_are_exactly_those_of_a_real_alertmanager(servers: Servers, tmp_path: Path) -> None:
    names = [name for name in candidates(servers) if name.endswith("_configs")]
    said = complaint(servers, with_receiver(dict.fromkeys([*names, "no_such_configs"])), tmp_path)
    version = version_of(servers)
    assert set(names) - set(UNKNOWN.findall(said)) == {name for name, since in INTEGRATIONS.items() if since <= version}


def test_what_an_integration_needs_is_what_a_real_alertmanager_demands(servers: Servers, tmp_path: Path) -> None:
    version = version_of(servers)
    for integration in (name for name, since in INTEGRATIONS.items() if since <= version):
        body = BODIES[integration]
        assert complaint(servers, with_receiver({integration: [body]}), tmp_path) == "", integration
        for need in NEEDS[integration]:
            (field,) = set(body) & set(need.own)
            lacking = {name: value for name, value in body.items() if name != field}
            assert complaint(servers, with_receiver({integration: [lacking]}), tmp_path), (integration, field)
            if shared := known(need.shared, "global", version):
                top = {"global": {shared[0]: SHARED[shared[0]]}}
                assert complaint(servers, with_receiver({integration: [lacking]}, **top), tmp_path) == ""


def test_a_value_and_its_file_exclude_each_other_for_a_real_alertmanager(servers: Servers, tmp_path: Path) -> None:
    version = version_of(servers)
    for integration, body in BODIES.items():
        for field in known(body, integration, version) if INTEGRATIONS[integration] <= version else ():
            twin = f"{field}_file"
            if FIELDS[integration].get(twin, (9, 9)) <= version:
                both = with_receiver({integration: [{**body, twin: "/etc/secret"}]})
                assert complaint(servers, both, tmp_path), (integration, field)


def test_every_need_names_fields_that_exist() -> None:
    assert set(NEEDS) == set(INTEGRATIONS) == set(BODIES)
    for integration, needs in NEEDS.items():
        for need in needs:
            assert set(need.own) <= set(FIELDS[integration])
            assert set(need.shared) <= set(FIELDS["global"])


def test_a_nested_table_is_found_by_its_place_or_by_its_name() -> None:
    assert table_of("slack_configs", "actions") == "slack_configs.actions"
    assert table_of("slack_configs.actions", "confirm") == "slack_configs.actions.confirm"
    assert table_of("webhook_configs", "http_config") == "http_config"
    assert table_of("opsgenie_configs", "actions") is None
    assert table_of("opsgenie_configs", "details") is None
