"""Every field that Alertmanager also reads from a file is known as a secret, in every version that is rendered for."""

from __future__ import annotations

from typing import Any

import pytest

from tooltel.artifacts.routes.fields import FIELDS, INTEGRATIONS
from tooltel.catalog import Catalog, Owner, find_problems

# Not secret by their name: certificates and names are public, and a URL is judged by what is in it.
PLAIN = {"ca", "cert", "chat_id", "url", "username"}
PAIRS = [
    (table, field)
    for table, fields in FIELDS.items()
    for field in fields
    if f"{field}_file" in fields and field not in PLAIN
]


def holding(table: str, field: str) -> Catalog:
    """A catalog with a value for *field* of *table*, wherever Alertmanager has it."""
    if table.partition(".")[0] == "global":
        value: dict[str, Any] = {field: "x"}
        for part in reversed(table.split(".")):
            value = {part: value}
        return Catalog(render={"alertmanager": value})
    if table in INTEGRATIONS:
        return Catalog(owners=[Owner("orders", ticket={table: [{field: "x"}]})])
    return Catalog(owners=[Owner("orders", page={"webhook_configs": [{"http_config": {table: {field: "x"}}}]})])


@pytest.mark.parametrize(("table", "field"), PAIRS)
def test_a_field_with_a_file_beside_it_is_a_secret(table: str, field: str) -> None:
    (problem,) = find_problems(holding(table, field))
    assert problem.rule == "inline_secret"
    assert problem.path.endswith(f".{field}")
    assert problem.fix.startswith(f"write {field}_file = ")


@pytest.mark.parametrize(("table", "field"), PAIRS)
def test_the_file_beside_it_is_none(table: str, field: str) -> None:
    assert find_problems(holding(table, f"{field}_file")) == []


def test_the_table_of_fields_has_the_secrets_that_it_should() -> None:
    assert len(PAIRS) > 35
    assert {("slack_configs", "api_url"), ("pagerduty_configs", "routing_key"), ("global", "slack_api_url")} <= set(
        PAIRS
    )


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ("victorops_configs", "routing_key"),  # a route, which has no file
        ("opsgenie_configs", "api_url"),
        ("pagerduty_configs", "client_url"),
        ("global", "smtp_auth_username"),
    ],
)
def test_what_only_looks_like_a_secret_is_none(table: str, field: str) -> None:
    assert find_problems(holding(table, field)) == []
