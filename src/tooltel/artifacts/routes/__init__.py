"""Alertmanager's routes: pages, tickets and digests reach the team that owns the tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tooltel.artifacts.documents import yaml_text
from tooltel.artifacts.routes.cases import build_cases
from tooltel.artifacts.routes.config import build_config
from tooltel.artifacts.routes.problems import find_receiver_problems
from tooltel.errors import CatalogError

if TYPE_CHECKING:
    from tooltel.artifacts.options import RenderOptions
    from tooltel.catalog import Catalog

__all__ = ["CONFIG", "TESTS", "find_receiver_problems", "render_routes"]

CONFIG = "alerts/alertmanager.yml"
TESTS = "alerts/tests/routes.yml"

_ABOUT_CONFIG = """\
Routes by owner and severity (page, ticket, info); what has no known owner reaches the platform's owner.
In an Alertmanager that others share: put `route` below your own, with matchers: [alertname=~"{prefix}.*"].
"""
_ABOUT_TESTS = """\
Unit tests of the routes, for amlint (from PyPI): amlint test {config} {tests}
One case by hand: amtool config routes test --config.file={config} 'owner="..."' 'severity="page"'
"""


def render_routes(catalog: Catalog, options: RenderOptions) -> dict[str, str]:
    """
    Render Alertmanager's configuration and its tests: {relative path: text}.

    Raises CatalogError with every problem of a receiver.
    """
    if problems := find_receiver_problems(catalog, options):
        raise CatalogError(problems, source=catalog.source)
    about_config = _ABOUT_CONFIG.format(prefix=options.alert_prefix)
    about_tests = _ABOUT_TESTS.format(config=CONFIG, tests=TESTS)
    return {
        CONFIG: yaml_text(build_config(catalog, options), catalog, about=about_config),
        TESTS: yaml_text({"tests": build_cases(catalog, options)}, catalog, about=about_tests),
    }
