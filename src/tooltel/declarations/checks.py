"""Declarations against the catalog: names, profiles, budgets."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from tooltel.catalog.checks.house import level_of
from tooltel.catalog.paths import key_path, shown
from tooltel.declarations.measuring import Declaration, measure
from tooltel.errors import Level, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tooltel.catalog import Catalog

_LARGEST: Final = 3  # declarations named where a budget is exceeded


def find_problems(catalog: Catalog, declarations: Mapping[str, Sequence[Any]]) -> list[Problem]:
    """
    Find what is wrong with *declarations*: by profile, what its model is sent, in any known form.

    Names must be the catalog's and of the profile, each once; sizes must keep the budgets of the profile and
    of the catalog, where a declaration that two profiles share counts once. An open catalog may still learn
    names. A budget's problem has the path of the budget; any other's begins with `declarations`.
    """
    problems: list[Problem] = []
    distinct: dict[tuple[str, str], Declaration] = {}
    for profile, sent in declarations.items():
        found = measure(sent)
        problems.extend(_of_profile(catalog, profile, found))
        distinct.update({(declaration.name, declaration.sha): declaration for declaration in found})
    total = catalog.house.budget_chars if declarations else None
    problems.extend(_over_budget(catalog, key_path("catalog", "budget_chars"), total, distinct.values()))
    return problems


def _of_profile(catalog: Catalog, profile: str, found: Sequence[Declaration]) -> Iterator[Problem]:
    known = catalog.profiles.get(profile)
    if known is None and not catalog.open:
        fix = f"declare for a profile of the catalog, or add [{key_path('profiles', profile)}]"
        path = key_path("declarations", profile)
        yield Problem("unknown_profile", path, f"no profile {shown(profile)}", fix)
    times = Counter(declaration.name for declaration in found)
    for place, declaration in enumerate(found):
        if declaration.problem:
            path = key_path("declarations", profile, place)
            fix = "send an object with name, description and a parameter schema"
            yield Problem("malformed_declaration", path, declaration.problem, fix)
    for name in times:
        if not name:
            continue
        path = key_path("declarations", profile, name)
        if times[name] > 1:
            what = f"is declared {times[name]} times"
            yield Problem("duplicate_declaration", path, what, "send it once: providers refuse a second one")
        if not catalog.open:
            yield from _name(catalog, profile, name, path)
    if known is not None:
        path = key_path("profiles", profile, "budget_chars")
        yield from _over_budget(catalog, path, known.budget_chars, found)


def _name(catalog: Catalog, profile: str, name: str, path: str) -> Iterator[Problem]:
    tool = catalog.tools.get(name)
    if tool is not None:
        if profile in catalog.profiles and profile not in tool.profiles:
            what = f"the tool is not in the profile {shown(profile)}"
            fix = f"add {shown(profile)} to {key_path('tools', name, 'profiles')}, or stop declaring it there"
            yield Problem("declared_name", path, what, fix)
    elif alias := catalog.aliases.get(name):
        what, fix = f"is an old name of {shown(alias.tool)}", f"declare it as {shown(alias.tool)}"
        yield Problem("declared_name", path, what, fix, level=Level.WARN)  # it still works
    elif taken := catalog.retired.get(name):
        what, fix = f"is a retired name of {shown(taken.name)}", f"declare it as {shown(taken.name)}"
        yield Problem("declared_name", path, what, fix)
    else:
        near = catalog.nearest(name)
        hint = f"did you mean {shown(near)}? Otherwise " if near else ""
        yield Problem("declared_name", path, "is not in the catalog", f"{hint}add [{key_path('tools', name)}]")


def _over_budget(
    catalog: Catalog, path: str, budget: int | None, declarations: Iterable[Declaration]
) -> Iterator[Problem]:
    level = level_of(catalog, "budget")
    if budget is None or level is Level.OFF:
        return
    largest = sorted(declarations, key=lambda declaration: -declaration.chars)
    chars = sum(declaration.chars for declaration in largest)
    if chars > budget:
        names = ", ".join(f"{shown(each.name or '?')} {each.chars}" for each in largest[:_LARGEST])
        what = f"the declarations take {chars} characters of at most {budget}"
        fix = f"shorten the largest ({names}), or raise the budget"
        yield Problem("budget", path, what, fix, level=level, house=True)
