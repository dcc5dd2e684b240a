"""Write what the stack in docker-compose.yml mounts and what follows from the example catalog: Alertmanager's routes.

They are the rendered ones, with every receiver a webhook to the stack's pager. `--check` only says whether the
committed file is what would be written. Exit codes: 0 written or fresh, 1 stale.
"""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import quote

from tooltel.artifacts import RenderOptions, render
from tooltel.artifacts.routes import CONFIG
from tooltel.demo.duty.serving import NOTIFY, PORT
from tooltel.demo.stack.rerouting import reroute
from tooltel.loading import load

ROOT = Path(__file__).resolve().parent.parent
CATALOG = ROOT / "src/tooltel/demo/tools.toml"
ROUTES = ROOT / "deploy/compose/alertmanager/alertmanager.yml"
PAGER = f"http://pager:{PORT}{NOTIFY}"


def routes() -> str:
    catalog = load(CATALOG)
    options = RenderOptions.from_catalog(catalog)
    text = render(*reroute(catalog, options, lambda name: PAGER + quote(name, safe="")), only=("routes",))[CONFIG]
    first, _, rest = text.partition("\n")
    return (
        f"{first.replace('`tooltel render`', '`make render`')}\n# Receivers are webhooks to the stack's pager.\n{rest}"
    )


def main(arguments: list[str]) -> int:
    text = routes()
    fresh = ROUTES.exists() and ROUTES.read_text("utf-8") == text
    if "--check" in arguments:
        print(f"{ROUTES.relative_to(ROOT)}: {'as rendered' if fresh else 'stale; run make render'}")
        return 0 if fresh else 1
    if not fresh:
        ROUTES.write_text(text, "utf-8")
        print(f"changed  {ROUTES.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
