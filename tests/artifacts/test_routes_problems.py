"""A receiver that the rendered-for Alertmanager would refuse is a problem, with its place and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from tooltel.artifacts.options import RenderOptions
from tooltel.artifacts.routes import find_receiver_problems
from tooltel.catalog import Catalog, Owner

PAGER = {"pagerduty_configs": [{"routing_key_file": "/etc/key"}]}


def problems(body: Any, version: str = "0.25", **options: Any) -> list[tuple[str, str]]:
    """Rule and path of each problem of an owner with *body* as page receiver."""
    catalog = Catalog(owners=[Owner("platform", page=PAGER), Owner("team", page=body)], platform_owner="platform")
    found = find_receiver_problems(catalog, RenderOptions(alertmanager_version=version, **options))
    return [(problem.rule, problem.path) for problem in found]


def test_a_field_that_came_later_is_refused_for_an_older_alertmanager_and_accepted_for_a_newer_one() -> None:
    body = {"webhook_configs": [{"url_file": "/etc/url"}]}
    assert problems(body, "0.25") == [
        ("newer_alertmanager", "owners.team.page.webhook_configs[0].url_file"),
    ]
    assert problems(body, "0.26") == []
    assert problems(body, "0.33.1") == []


def test_the_fix_says_which_version_would_do() -> None:
    catalog = Catalog(
        owners=[Owner("platform", page={"webhook_configs": [{"url_file": "/etc/url"}]})],
        platform_owner="platform",
    )
    (problem,) = find_receiver_problems(catalog, RenderOptions())
    assert 'alertmanager_version = "0.26"' in problem.fix
    assert "0.25 has no url_file" in problem.what


def test_an_integration_that_came_later_is_refused_for_an_older_alertmanager() -> None:
    body = {"msteamsv2_configs": [{"webhook_url_file": "/etc/url"}]}
    assert problems(body, "0.27") == [("newer_alertmanager", "owners.team.page.msteamsv2_configs")]
    assert problems(body, "0.28") == []


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"pager_configs": [{}]}, [("unknown_integration", "owners.team.page.pager_configs")]),
        (
            {"webhook_configs": [{"url": "http://host", "uri": "x"}]},
            [("unknown_field", "owners.team.page.webhook_configs[0].uri")],
        ),
        ({"webhook_configs": [{}]}, [("missing_field", "owners.team.page.webhook_configs[0]")]),
        (
            {"email_configs": [{"to": "a@example.com", "smarthost": "host:25"}]},
            [("missing_field", "owners.team.page.email_configs[0]")],
        ),
        (
            {"slack_configs": [{"api_url": "http://host", "api_url_file": "/etc/url"}]},
            [("conflicting_fields", "owners.team.page.slack_configs[0].api_url_file")],
        ),
        (
            {"webhook_configs": [{"url": "http://host", "http_config": {"tls": {}}}]},
            [("unknown_field", "owners.team.page.webhook_configs[0].http_config.tls")],
        ),
        (
            {"webhook_configs": [{"url": "http://host", "http_config": {"basic_auth": {"username_file": "/u"}}}]},
            [
                (
                    "newer_alertmanager",
                    "owners.team.page.webhook_configs[0].http_config.basic_auth.username_file",
                )
            ],
        ),
        (
            {"pagerduty_configs": [{"routing_key_file": "/k", "links": [{"href": "x"}, {"url": "x"}]}]},
            [("unknown_field", "owners.team.page.pagerduty_configs[0].links[1].url")],
        ),
        ({"webhook_configs": {"url": "http://host"}}, [("bad_receiver", "owners.team.page.webhook_configs")]),
        ({"webhook_configs": []}, [("bad_receiver", "owners.team.page.webhook_configs")]),
        ({"webhook_configs": ["http://host"]}, [("bad_receiver", "owners.team.page.webhook_configs[0]")]),
        ({5: [{}]}, [("unknown_integration", "owners.team.page.5")]),
        ("#channel", [("bad_receiver", "owners.team.page")]),
    ],
)
def test_a_receiver_that_alertmanager_would_refuse_is_a_problem_at_its_place(
    body: Any, found: list[tuple[str, str]]
) -> None:
    assert problems(body) == found


def test_every_problem_of_every_owner_and_kind_is_found_at_once() -> None:
    bad = {"webhook_configs": [{"a": 1, "b": 2}]}
    catalog = Catalog(owners=[Owner("one", page=bad, ticket=bad, digest=bad), Owner("two", page=bad)])
    found = find_receiver_problems(catalog, RenderOptions(deadman=bad))
    assert len(found) == 1 + 5 * 3  # no platform; each body: two unknown fields, and no URL
    assert {problem.path.split(".webhook_configs")[0] for problem in found} == {
        "catalog.platform_owner", "owners.one.page", "owners.one.ticket", "owners.one.digest",
        "owners.two.page", "render.deadman",
    }  # fmt: skip


def test_details_and_headers_are_the_owners_own() -> None:
    details = {"pagerduty_configs": [{"routing_key_file": "/k", "details": {"anything": "{{ .x }}"}}]}
    assert problems(details) == []


def test_what_the_global_table_gives_need_not_be_given_again() -> None:
    body = {"email_configs": [{"to": "team@example.com"}]}
    assert len(problems(body)) == 2
    given = {"global": {"smtp_smarthost": "host:25", "smtp_from": "alerts@example.com"}}
    assert problems(body, alertmanager=given) == []


def test_the_global_table_is_checked_like_a_receiver() -> None:
    assert problems(PAGER, alertmanager={"global": {"smtp_smarthots": "host:25", "smtp_tls_config": {}}}) == [
        ("unknown_field", "render.alertmanager.global.smtp_smarthots"),
        ("newer_alertmanager", "render.alertmanager.global.smtp_tls_config"),
    ]


def test_a_secret_in_the_global_table_or_in_the_deadman_receiver_is_refused() -> None:
    found = problems(
        PAGER,
        alertmanager={"global": {"slack_api_url": "https://hooks.example.com/x"}},
        deadman={"pagerduty_configs": [{"routing_key": "R0UT1NG"}]},
    )
    assert found == [
        ("inline_secret", "render.alertmanager.global.slack_api_url"),
        ("inline_secret", "render.deadman.pagerduty_configs[0].routing_key"),
    ]


@pytest.mark.parametrize("owner", [None, "nobody"])
def test_without_a_platform_owner_there_is_nowhere_to_send_what_nobody_owns(owner: str | None) -> None:
    catalog = Catalog(owners=[Owner("team", page=PAGER)], platform_owner=owner)
    (problem,) = find_receiver_problems(catalog, RenderOptions())
    assert (problem.rule, problem.path) == ("no_platform_owner", "catalog.platform_owner")


def test_the_platform_owner_needs_a_page_receiver() -> None:
    catalog = Catalog(owners=[Owner("platform", ticket=PAGER)], platform_owner="platform")
    (problem,) = find_receiver_problems(catalog, RenderOptions())
    assert (problem.rule, problem.path) == ("no_platform_receiver", "owners.platform.page")
