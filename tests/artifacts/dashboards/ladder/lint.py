"""Rung 2: what makes a dashboard fit for use, and what the format alone does not demand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from tests.artifacts.dashboards.ladder.reading import (
    LABEL_VALUES,
    VARIABLE,
    Json,
    panels,
    queries,
    variables,
)
from tooltel.artifacts.dashboards import links
from tooltel.artifacts.dashboards.sdk import units

KNOWN_UNITS: Final = {value for name, value in vars(units).items() if name[0].isupper()}
OWN_UNIT: Final = re.compile(r"suffix:[a-z/ ]+")
WINDOW: Final = re.compile(r"\b(rate|increase)\((?:[^()\[\]]|\{[^}]*\})*\[([^\]]+)\]")
BUILTIN: Final = ("__rate_interval", "__range", "__url_time_range", "__data", "__field")
# Windows of graphs that are a length on purpose: how fast an error budget burns is defined over an hour.
FIXED_WINDOWS: Final = {("Error budget burn by tool", "1h")}
RAW: Final = re.compile(r"\b(\w+_(?:total|bucket|count|sum))\b")


def lint_faults(board: Json) -> list[str]:
    """One sentence for everything about *board* that a user would trip over."""
    checks = (_whole, _variables, _numbers, _frames, _shows, _looks, _places, _expressions, _links)
    return [f"{board['uid']}: {fault}" for check in checks for fault in check(board)]


def _whole(board: Json) -> Iterator[str]:
    if board["uid"] not in links.TITLES:
        yield "an unknown uid"
    if board["schemaVersion"] != 42:
        yield f"schemaVersion {board['schemaVersion']}, not that of the pinned SDK"
    if board.get("editable", True):
        yield "a provisioned dashboard must not be editable"
    if "__inputs" in board or "${DS_" in str(board):
        yield "inputs cannot be filled by provisioning"
    if "tooltel render" not in board["description"]:
        yield "the description does not say that it is generated"
    if not board["annotations"]["list"]:
        yield "no annotations of alerts"


def _variables(board: Json) -> Iterator[str]:
    found = variables(board)
    if len(found) != len(board["templating"]["list"]):
        yield "two variables of one name"
    source = found.get("datasource")
    if source is None or source["type"] != "datasource" or source["query"] != "prometheus":
        yield "no variable for the Prometheus data source"
    for name, variable in found.items():
        if variable["type"] != "query":
            continue
        if not LABEL_VALUES.fullmatch(variable["query"]):
            yield f"variable {name}: not label_values(series, label)"
        if variable["refresh"] != 2:
            yield f"variable {name}: does not refresh with the time range"
        if not (variable["multi"] and variable["includeAll"] and variable["allValue"] == ".*"):
            yield f"variable {name}: All must be .*, or it expands to a list of today's values"
        if variable["definition"] != variable["query"]:
            yield f"variable {name}: definition and query differ"
        if not variable.get("description") or not variable.get("label"):
            yield f"variable {name}: no label or description"
        if variable["hide"] == 0 and not any(f"${name}" in asked.expr for asked in queries(board)):
            yield f"variable {name}: shown, and narrows nothing"


def _numbers(board: Json) -> Iterator[str]:
    numbers = [panel.get("id") for panel in (*board["panels"], *panels(board))]
    rows = sum(panel["type"] == "row" for panel in board["panels"])
    unique = {number for number in numbers if isinstance(number, int) and number > 0}
    if len(unique) != rows + len(list(panels(board))):
        yield f"panel ids are not unique, or missing: {numbers}"


def _frames(board: Json) -> Iterator[str]:
    titles = Counter(panel["title"] for panel in panels(board))
    for panel in panels(board):
        title = panel["title"]
        if not title or titles[title] > 1:
            yield f"panel {title!r}: no title of its own"
        if len(panel.get("description", "")) < 40 or "Good:" not in panel["description"]:
            yield f"panel {title!r}: the description does not say what good looks like"
        if panel["datasource"]["uid"] != "${datasource}":
            yield f"panel {title!r}: not the chosen data source"
        for target in panel["targets"]:
            if target["datasource"]["uid"] != "${datasource}":
                yield f"panel {title!r}: a query does not ask the chosen data source"
        references = [target["refId"] for target in panel["targets"]]
        if len(set(references)) != len(references):
            yield f"panel {title!r}: two queries of one reference"


def _shows(board: Json) -> Iterator[str]:
    for panel in panels(board):
        title, kind = panel["title"], panel["type"]
        defaults = panel["fieldConfig"]["defaults"]
        unit = defaults.get("unit", "")
        if unit not in KNOWN_UNITS and not OWN_UNIT.fullmatch(unit):
            yield f"panel {title!r}: unit {unit!r} is none that Grafana knows"
        if kind == "heatmap" and panel["options"]["yAxis"].get("unit") != unit:
            yield f"panel {title!r}: the axis has no unit"
        if not defaults.get("noValue"):
            yield f"panel {title!r}: says nothing where there is no data"
        if kind in ("stat", "bargauge") and panel["options"]["reduceOptions"]["calcs"] != ["lastNotNull"]:
            yield f"panel {title!r}: no calculation that makes one number of many"
        if kind == "table":
            yield from _table(panel)
        counts = unit in ("short", "locale") or (unit.startswith("suffix:") and not unit.endswith("/s"))
        if counts and "increase(" in panel["targets"][0]["expr"] and defaults.get("decimals") is None:
            yield f"panel {title!r}: increase() is a fraction, and decimals are not set"
        if kind == "timeseries":
            yield from (
                f"panel {title!r}: a series without a legend" for t in panel["targets"] if not t["legendFormat"]
            )
        steps = defaults["thresholds"]["steps"]
        if steps[0]["value"] is not None or steps[1:] != sorted(steps[1:], key=lambda step: float(step["value"])):
            yield f"panel {title!r}: color steps out of order"


def _looks(board: Json) -> Iterator[str]:
    for panel in panels(board):
        title, kind = panel["title"], panel["type"]
        if kind in ("stat", "bargauge") and not _says_nothing_in_no_color(panel["fieldConfig"]["defaults"]):
            yield f"panel {title!r}: no data has the color of a number"
        if kind == "stat" and panel["options"]["graphMode"] != "none":
            yield f"panel {title!r}: a graph runs through the number"
        for each in panel["fieldConfig"]["overrides"]:
            pattern = each["matcher"]["options"]
            if each["matcher"]["id"] == "byRegexp" and pattern != ".*" and not re.fullmatch("/.+/", pattern):
                yield f"panel {title!r}: Grafana takes {pattern!r} without slashes for the whole name"


def _says_nothing_in_no_color(defaults: Json) -> bool:
    nulls = [each["options"] for each in defaults.get("mappings", ()) if each["type"] == "special"]
    said = [(each["match"], each["result"]["text"], each["result"]["color"]) for each in nulls]
    return said == [("null", defaults.get("noValue"), "text")]


def _table(panel: Json) -> Iterator[str]:
    title = panel["title"]
    steps = [step["id"] for step in panel.get("transformations", ())]
    if steps != ["merge", "organize", "sortBy", "limit"]:
        yield f"panel {title!r}: a table that does not merge, name, sort and bound its rows"
        return
    for target in panel["targets"]:
        if target["format"] != "table" or not target["instant"]:
            yield f"panel {title!r}: {target['refId']} is not asked as a table"
    styled = {
        override["matcher"]["options"]: {one["id"] for one in override["properties"]}
        for override in panel["fieldConfig"]["overrides"]
    }
    organized = panel["transformations"][1]["options"]
    renamed, hidden = organized["renameByName"], organized["excludeByName"]
    for field in organized["indexByName"]:
        column = renamed.get(field, field)
        if field != "Value" and not {"unit", "noValue"} <= styled.get(column, set()):
            yield f"panel {title!r}: column {column!r} has no unit"
    for target in panel["targets"]:
        field = f"Value #{target['refId']}"
        if (field in organized["indexByName"]) == (field in hidden):
            yield f"panel {title!r}: {target['refId']} is neither shown nor hidden"
    if panel["transformations"][2]["options"]["sort"][0]["field"] not in {*renamed.values(), *organized["indexByName"]}:
        yield f"panel {title!r}: sorted by what is no column"


def _places(board: Json) -> Iterator[str]:
    taken: dict[tuple[int, int], str] = {}
    bottom = 0
    for panel in board["panels"]:
        place, title = panel["gridPos"], panel["title"]
        if place["x"] + place["w"] > 24 or place["w"] < 1 or place["h"] < 1:
            yield f"panel {title!r}: wider than the grid"
        cells = [
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        ]
        for other in {taken[cell] for cell in cells if cell in taken}:
            yield f"panel {title!r} overlaps {other!r}"
        taken.update(dict.fromkeys(cells, title))
        bottom = max(bottom, place["y"] + place["h"])
    if len(taken) != 24 * bottom:
        yield "the grid has holes"


def _expressions(board: Json) -> Iterator[str]:
    several = {name for name, variable in variables(board).items() if variable.get("multi")}
    known = {*variables(board), *BUILTIN}
    for asked in queries(board):
        title = asked.panel["title"] if asked.panel else "annotation"
        for match in VARIABLE.finditer(asked.expr):
            name = next(group for group in match.groups() if group)
            if name not in known and not name.isdigit():  # $1 is label_replace's own
                yield f"{asked.place}: {match[0]} is no variable"
        for operator, name in re.findall(r'(=~|!~|!=|=)\s*"\$\{?(\w+)', asked.expr):
            if name in several and operator != "=~":
                yield f"{asked.place}: ${name} holds many values and must be matched by =~"
        for function, window in WINDOW.findall(asked.expr):
            if window == "$__rate_interval" and asked.instant:
                yield f"{asked.place}: one number over the window of a point"
            graph = not asked.instant and window != "$__rate_interval"
            if graph and (title, window) not in FIXED_WINDOWS and f"[{window}] @ end()" not in asked.expr:
                yield f"{asked.place}: {function} over {window}, not $__rate_interval"
        raw = RAW.findall(asked.expr)
        if raw and not re.search(
            r"\b(rate|increase|present_over_time|timestamp|count_over_time|count|group)\b", asked.expr
        ):
            yield f"{asked.place}: a raw counter {raw[0]}"


def _links(board: Json) -> Iterator[str]:
    for link in board["links"]:
        if not link["url"].startswith("/"):
            continue
        if urlsplit(link["url"]).path.removeprefix("/d/") not in links.TITLES:
            yield f"link {link['title']!r}: no such dashboard"
        if not (link["includeVars"] and link["keepTime"]):
            yield f"link {link['title']!r}: loses variables or the time range"
        if link.get("placement"):
            yield f"link {link['title']!r}: hidden in a menu"
    for url in _data_links(board):
        if url.startswith("/"):
            yield from (f"data link {url}: {fault}" for fault in _address(url, set(variables(board))))


def _address(url: str, own: set[str]) -> Iterator[str]:
    """Faults of an address inside Grafana; every dashboard has the same variables."""
    parts = urlsplit(url)
    if parts.path.removeprefix("/d/") not in links.TITLES:
        yield "no such dashboard"
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if not name.startswith("var-"):
            continue
        if name.removeprefix("var-") not in own:
            yield f"sets {name}, which is no variable"
        if not value.endswith(":percentencode}"):
            yield f"{name} is not encoded"
    for match in VARIABLE.finditer(url):
        name = next(group for group in match.groups() if group)
        if name not in {*own, *BUILTIN}:
            yield f"{match[0]} is no variable"
    if "${__url_time_range}" not in url or "${datasource:queryparam}" not in url:
        yield "loses the time range or the data source"


def _data_links(board: Json) -> Iterator[str]:
    for panel in panels(board):
        for override in panel["fieldConfig"]["overrides"]:
            for one in override["properties"]:
                if one["id"] == "links":
                    yield from (link["url"] for link in one["value"])
