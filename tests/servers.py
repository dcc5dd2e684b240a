"""Where the real Prometheus and Alertmanager binaries for tests are.

Take the fixture `servers` (a test runs once per generation) or `newest_servers` (once) from conftest.py;
both mark the test `server`, and skip it where the binaries are missing, or fail it when NO_SKIP=1.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

FETCHED = Path(__file__).resolve().parent.parent / ".servers"
EXPECTED = ("stable", "new")
HOW_TO_GET = (
    "run `make servers` (Debian), or put prometheus, promtool, alertmanager and amtool on PATH "
    "(for example: brew install prometheus alertmanager)"
)


@dataclass(frozen=True)
class Servers:
    """One generation of binaries: `stable` (Prometheus 2.42 or later), `new` (3.x), or `path` (from PATH)."""

    name: str
    prometheus: Path
    promtool: Path
    alertmanager: Path
    amtool: Path


def generations() -> list[Servers]:
    """Every generation that is here, oldest first; PATH is asked only where a fetched one is missing."""
    fetched = [servers for name in EXPECTED if (servers := _fetched(name)) is not None]
    on_path = _on_path() if len(fetched) < len(EXPECTED) else None
    return [*fetched, *([on_path] if on_path else [])]


def _fetched(name: str) -> Servers | None:
    folder = FETCHED / name
    if not (folder / "packages.txt").exists():
        return None
    return Servers(name, *(folder / binary for binary in ("prometheus", "promtool", "alertmanager", "amtool")))


def _on_path() -> Servers | None:
    # Debian's package calls Alertmanager prometheus-alertmanager.
    candidates = (("prometheus",), ("promtool",), ("prometheus-alertmanager", "alertmanager"), ("amtool",))
    found = [next((path for name in names if (path := shutil.which(name))), None) for names in candidates]
    paths = [Path(path) for path in found if path]
    return Servers("path", *paths) if len(paths) == len(candidates) else None
