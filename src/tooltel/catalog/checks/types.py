"""Values of a wrong type: a string where a list belongs, a number in quotes."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import TYPE_CHECKING, Any, Final

from tooltel.catalog.nouns import Tool
from tooltel.catalog.paths import key_path
from tooltel.catalog.shapes import FIELDS, NUMBER, OPTIONAL, TABLE, TEXT, TEXTS, Shape, misfit

if TYPE_CHECKING:
    from collections.abc import Callable

    from tooltel.catalog.catalog import Catalog
    from tooltel.errors import Problem

_SECTIONS: Final = {
    "owners": ("owners",),
    "profiles": ("profiles",),
    "tools": ("tools",),
    "mcp": ("mcp",),
    "sources": ("sidecar", "sources"),
}
_SETTINGS: Final = {
    "platform_owner": TEXT,
    "security_owner": TEXT,
    "session_retention": NUMBER,
    "render": TABLE,
}
_UNSET: Final = frozenset({"platform_owner", "security_owner"})  # settings that may be None


def settle_types(catalog: Catalog) -> tuple[list[Problem], Catalog]:
    """
    Find every value of a wrong type, and give the catalog without them: other rules can then rely on types.

    A catalog without such values comes back as it is.
    """
    problems: list[Problem] = []
    changed: dict[str, Any] = {}
    for field, section in _SECTIONS.items():
        nouns = [_settled(noun, (*section, str(noun.name)), problems) for noun in getattr(catalog, field).values()]
        changed[field] = nouns
    changed["signatures"] = [
        _settled(signature, ("signatures", place), problems) for place, signature in enumerate(catalog.signatures)
    ]
    changed["house"] = _settled(catalog.house, ("catalog",), problems)
    for field, shape in _SETTINGS.items():
        value = getattr(catalog, field)
        if not shape.fits(value) and not (value is None and field in _UNSET):
            place = (field,) if field == "render" else ("catalog", field)
            problems.append(misfit(key_path(*place), shape, value))
            changed[field] = _default(type(catalog), field, shape)
    return problems, replace(catalog, **changed) if problems else catalog


def _settled(noun: Any, place: tuple[str | int, ...], problems: list[Problem]) -> Any:
    """The *noun* with a default in place of each value of a wrong type; itself where there is none."""
    changed: dict[str, Any] = {}
    kind = type(noun)
    for field, shape in FIELDS[kind].items():
        value = getattr(noun, field)
        if not shape.fits(value) and not (value is None and field in OPTIONAL):
            problems.append(misfit(key_path(*place, field), shape, value))
            changed[field] = _kept(kind, field, shape, value)
    if kind is Tool and "alerts" not in changed and noun.alerts:
        odd = {alert: options for alert, options in noun.alerts.items() if not TABLE.fits(options)}
        problems.extend(misfit(key_path(*place, "alerts", str(alert)), TABLE, odd[alert]) for alert in odd)
        if odd:
            changed["alerts"] = {alert: noun.alerts[alert] for alert in noun.alerts if alert not in odd}
    name = getattr(noun, "name", "")
    if not isinstance(name, str):
        problems.append(misfit(key_path(*place), TEXT, name))
        changed["name"] = str(name)
    return replace(noun, **changed) if changed else noun


def _kept(kind: type, field: str, shape: Shape, value: Any) -> Any:
    if shape is TEXTS and isinstance(value, (list, tuple)):
        return tuple(each for each in value if isinstance(each, str))
    return _default(kind, field, shape)


def _default(kind: Any, field: str, shape: Shape) -> Any:
    found = next(each for each in fields(kind) if each.name == field)
    if found.default is not MISSING:
        return found.default
    factory: Callable[[], Any] | Any = found.default_factory
    if factory is not MISSING:
        return factory()
    return () if shape is TEXTS else ""
