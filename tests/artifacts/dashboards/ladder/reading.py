"""Read a dashboard as Grafana does: its panels, its variables, and queries with variables put in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

Json = dict[str, Any]

ALL: Final = "$__all"
VARIABLE: Final = re.compile(r"\$(\w+)|\$\{(\w+)(?:\.[^:}]+)?(?::\w+)?\}|\[\[(\w+)(?::\w+)?\]\]")
LABEL_VALUES: Final = re.compile(r"label_values\((?P<series>.+),\s*(?P<label>\w+)\)", re.DOTALL)
LEGEND_LABEL: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")
FIELD_LABEL: Final = re.compile(r"\$\{__(?:data\.fields|field\.labels)\.(\w+)")
UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def panels(board: Json) -> Iterator[Json]:
    """Every panel that shows something, also those inside a collapsed row."""
    for panel in board["panels"]:
        if panel["type"] == "row":
            yield from panel["panels"]
        else:
            yield panel


def variables(board: Json) -> dict[str, Json]:
    """The variables by name, in the order in which Grafana fills them."""
    return {variable["name"]: variable for variable in board["templating"]["list"]}


@dataclass(frozen=True)
class Asked:
    """One question that a dashboard asks, and where it stands."""

    place: str
    expr: str
    instant: bool
    panel: Json | None = None
    target: Json | None = None


def queries(board: Json) -> Iterator[Asked]:
    """Every query of a panel or an annotation."""
    for panel in panels(board):
        for target in panel["targets"]:
            place = f"{board['uid']}/{panel['title']}/{target['refId']}"
            yield Asked(place, target["expr"], target["instant"], panel, target)
    for annotation in board["annotations"]["list"]:
        yield Asked(f"{board['uid']}/annotation {annotation['name']}", annotation["expr"], instant=False)


def variable_query(variable: Json) -> tuple[str, str]:
    """The selector and the label of a query variable."""
    found = LABEL_VALUES.fullmatch(variable["query"])
    if found is None:
        raise ValueError(f"{variable['name']}: not label_values(series, label): {variable['query']}")
    return found["series"], found["label"]


def seconds(length: str) -> int:
    """The seconds of a length such as 6h."""
    return int(length[:-1]) * UNITS[length[-1]]


def time_range(board: Json) -> int:
    """The seconds that the dashboard shows at first."""
    return seconds(board["time"]["from"].removeprefix("now-"))


def chosen(board: Json) -> dict[str, str]:
    """What each variable stands for at first, as it arrives in a query."""
    values = {}
    for name, variable in variables(board).items():
        value = variable["current"]["value"]
        values[name] = variable["allValue"] if value == ALL else value
    return values


def put_in(text: str, values: Mapping[str, str]) -> str:
    """*text* with variables replaced; a name that is no variable stays as it is, as in Grafana."""

    def value(match: re.Match[str]) -> str:
        name = next(group for group in match.groups() if group)
        return values.get(name, match[0])

    return VARIABLE.sub(value, text)


def builtin(board: Json, *, scrape: int = 15, step: int = 60) -> dict[str, str]:
    """Grafana's own variables at a given scrape interval and step."""
    length = time_range(board)
    return {
        "__rate_interval": f"{max(step + scrape, 4 * scrape)}s",
        "__interval": f"{step}s",
        "__range": f"{length}s",
        "__range_s": str(length),
    }
