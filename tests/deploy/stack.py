"""The stack's files, read as Docker Compose reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).resolve().parents[2]
COMPOSE: Final = ROOT / "docker-compose.yml"
MOUNTED: Final = ROOT / "deploy" / "compose"
VARIABLE: Final = re.compile(r"(?<!\$)\$(?:\{(\w+)\}|(\w+))")  # $$ is a dollar


@dataclass(frozen=True)
class Mount:
    """A file or folder of this repository, as a service sees it."""

    source: Path
    target: str
    mode: str


@lru_cache
def environment() -> dict[str, str]:
    """What .env says."""
    lines = (line.strip() for line in (ROOT / ".env").read_text("utf-8").splitlines())
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@lru_cache
def compose() -> dict[str, Any]:
    """The compose file with its anchors merged and its variables put in."""
    text = VARIABLE.sub(lambda found: environment()[found[1] or found[2]], COMPOSE.read_text("utf-8"))
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def services() -> dict[str, dict[str, Any]]:
    """Every service by name."""
    found: dict[str, dict[str, Any]] = compose()["services"]
    return found


def mounts(service: str) -> list[Mount]:
    """What a service mounts of this repository; named volumes are not among it."""
    split = (each.split(":") for each in services()[service].get("volumes", ()) if each.startswith((".", "/", "~")))
    return [Mount((ROOT / source).resolve(), target, ":".join(mode)) for source, target, *mode in split]


def config(path: str) -> Any:
    """A file below deploy/compose, parsed."""
    return yaml.safe_load((MOUNTED / path).read_text("utf-8"))


def strings(value: Any) -> list[str]:
    """Every text in a parsed file, wherever it stands."""
    match value:
        case str():
            return [value]
        case dict():
            return [text for key, each in value.items() for text in (*strings(key), *strings(each))]
        case list():
            return [text for each in value for text in strings(each)]
    return []


def host_port(address: str) -> int:
    """The port of an address such as 0.0.0.0:4317."""
    return int(address.rpartition(":")[2])


def listens() -> dict[str, set[int]]:
    """The ports at which each service listens, from its own configuration; a fixed one where that is the image's."""
    collector = config("collector/config.yaml")
    tempo = config("tempo/tempo.yaml")
    receivers = collector["receivers"]["otlp"]["protocols"].values()
    return {
        "agent": {_option("agent", "--port")},
        "pager": {_option("pager", "--port")},
        "prometheus": {9090},
        "alertmanager": {9093},
        "grafana": {3000},
        "collector": {
            *(host_port(each["endpoint"]) for each in receivers),
            host_port(collector["extensions"]["health_check"]["endpoint"]),
        },
        "tempo": {
            tempo["server"]["http_listen_port"],
            *(host_port(each["endpoint"]) for each in tempo["distributor"]["receivers"]["otlp"]["protocols"].values()),
        },
        "loki": {config("loki/loki.yaml")["server"]["http_listen_port"]},
    }


def _option(service: str, name: str) -> int:
    command = services()[service]["command"]
    return int(command[command.index(name) + 1])
