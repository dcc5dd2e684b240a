"""The dashboards, from the catalog and the table of signals: classic JSON for Grafana 12 and later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tooltel.artifacts.dashboards import links
from tooltel.errors import MissingExtraError

if TYPE_CHECKING:
    from tooltel.artifacts.options import RenderOptions
    from tooltel.catalog import Catalog

FOLDER: Final = "dashboards"


def render_dashboards(catalog: Catalog, options: RenderOptions) -> dict[str, str]:
    """
    Render every dashboard as {path: text}, such as `dashboards/tooltel-fleet.json`.

    Equal catalogs and options give equal bytes. Raises MissingExtraError without grafana-foundation-sdk.
    """
    try:
        from tooltel.artifacts.dashboards.boards import write_boards
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("grafana_foundation_sdk"):
            raise
        raise MissingExtraError("grafana-foundation-sdk", extra="render", purpose="rendering dashboards") from error
    return {f"{FOLDER}/{uid}.json": text for uid, text in write_boards(catalog, options).items()}


__all__ = ["FOLDER", "links", "render_dashboards"]
