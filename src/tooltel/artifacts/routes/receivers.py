"""Who is told: the receivers of a catalog's owners, and which one each kind of alert of an owner reaches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tooltel.artifacts.defaults import INFO, PAGE, TICKET

if TYPE_CHECKING:
    from tooltel.artifacts.options import RenderOptions
    from tooltel.catalog import Catalog, Owner

DIGEST: Final = "digest"
KINDS: Final = (PAGE, TICKET, DIGEST)
KIND_OF: Final[Mapping[str, str]] = {PAGE: PAGE, TICKET: TICKET, INFO: DIGEST}  # severity -> kind of receiver
WATCHDOG: Final = "watchdog"


@dataclass(frozen=True, slots=True)
class Receivers:
    """
    Every receiver by name, and the choice among them.

    An owner's receivers are `{owner}-page`, `{owner}-ticket` and `{owner}-digest`: the last word tells them
    apart, so that no two owners' receivers can share a name, whatever the owners are called.
    """

    bodies: Mapping[str, Mapping[str, Any]]
    platform: Owner

    @classmethod
    def of(cls, catalog: Catalog, options: RenderOptions) -> Receivers:
        """Collect the receivers; the catalog must have a platform owner with a page receiver."""
        platform = platform_of(catalog)
        if platform is None or not platform.page:
            raise ValueError("no platform owner with a page receiver: find_receiver_problems() says so")
        owners = [owner for _, owner in sorted(catalog.owners.items())]
        given = {f"{owner.name}-{kind}": getattr(owner, kind) for owner in owners for kind in KINDS}
        return cls({**{name: body for name, body in given.items() if body}, WATCHDOG: options.deadman}, platform)

    def named(self, owner: Owner, kind: str) -> str:
        """
        The receiver for one kind of *owner*'s alerts.

        An absent digest means the owner's ticket, so that a note on housekeeping wakes nobody; an absent ticket means
        the page. An owner without a page means the platform's receiver of that kind, so that a ticket becomes no page
        on its way to another team.
        """
        kinds = (DIGEST, TICKET, PAGE) if kind == DIGEST else (kind, PAGE)
        for place in (owner, self.platform):
            for each in kinds:
                if getattr(place, each):
                    return f"{place.name}-{each}"
        return f"{self.platform.name}-{PAGE}"


def platform_of(catalog: Catalog) -> Owner | None:
    """The owner of what has no owner."""
    return catalog.owners.get(catalog.platform_owner) if catalog.platform_owner is not None else None
