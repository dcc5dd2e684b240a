"""What is wrong with a catalog: pure rules, one subject per file, which return every problem at once."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from tooltel.catalog.paths import key_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tooltel.catalog.catalog import Catalog
    from tooltel.catalog.nouns import Tool
    from tooltel.errors import Problem


def find_problems(catalog: Catalog) -> list[Problem]:
    """
    Find every problem of *catalog*; an empty list means that it is fine.

    House rules come with the level that the catalog gives them, and not at all where it is `off`. A value of
    a wrong type is reported as that alone. Budgets and declared names need the declarations, see
    `tooltel.declarations.find_problems`; options below `render` are judged by the artifacts.
    """
    from tooltel.catalog.checks.types import settle_types

    problems, typed = settle_types(catalog)
    mistyped = {problem.path for problem in problems}
    for rule in _rules():
        problems.extend(problem for problem in rule(typed) if problem.path not in mistyped)
    return problems


def find_tool_problems(catalog: Catalog, tool: Tool) -> list[Problem]:
    """
    Find the problems of one *tool* of *catalog*, at a cost that does not grow with every other tool's checks.

    For tools that are declared where they are wrapped: the others were judged before.
    """
    names = {tool.name, *tool.aliases, *tool.retired}
    clashing = {
        other.name: other for other in catalog.tools.values() if not names.isdisjoint((*other.aliases, *other.retired))
    }
    clashing |= {name: catalog.tools[name] for name in names if name in catalog.tools}
    tools = {**clashing, tool.name: tool}
    alone = replace(catalog, tools=tools, mcp={}, sources={}, signatures=(), duplicates=())
    start = key_path("tools", tool.name)
    return [each for each in find_problems(alone) if each.path == start or each.path.startswith(f"{start}.")]


@cache
def _rules() -> tuple[Callable[[Catalog], Iterator[Problem]], ...]:
    # Imported when the first catalog is judged: `import tooltel` has no use for them.
    from tooltel.catalog.checks.house import find_setting_problems
    from tooltel.catalog.checks.logs import find_log_problems
    from tooltel.catalog.checks.names import find_name_problems
    from tooltel.catalog.checks.oldnames import find_old_name_problems
    from tooltel.catalog.checks.receivers import find_receiver_problems
    from tooltel.catalog.checks.references import find_reference_problems
    from tooltel.catalog.checks.values import find_value_problems

    return (
        find_setting_problems,
        find_name_problems,
        find_old_name_problems,
        find_reference_problems,
        find_value_problems,
        find_receiver_problems,
        find_log_problems,
    )
