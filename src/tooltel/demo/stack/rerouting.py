"""Routes as rendered, and every receiver a webhook: who would be told is told, and nobody is woken up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tooltel.artifacts.routes.receivers import KINDS, WATCHDOG

if TYPE_CHECKING:
    from tooltel.artifacts.options import RenderOptions
    from tooltel.catalog import Catalog, Owner


def reroute(catalog: Catalog, options: RenderOptions, url: Callable[[str], str]) -> tuple[Catalog, RenderOptions]:
    """
    Give both with each receiver replaced by a webhook to *url* of its name; which one an alert reaches stays.

    A receiver that an owner lacks stays lacking.
    """
    owners = {name: _rerouted(owner, url) for name, owner in catalog.owners.items()}
    return replace(catalog, owners=owners), replace(options, deadman=_webhook(url(WATCHDOG)), alertmanager={})


def _rerouted(owner: Owner, url: Callable[[str], str]) -> Owner:
    given: dict[str, Any] = {kind: _webhook(url(f"{owner.name}-{kind}")) for kind in KINDS if getattr(owner, kind)}
    return replace(owner, **given)


def _webhook(url: str) -> Mapping[str, Any]:
    return {"webhook_configs": [{"url": url, "send_resolved": True}]}
