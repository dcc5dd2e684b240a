"""The real amtool, asked whether a configuration is valid and whom an alert reaches."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.servers import Servers


def complaint(servers: Servers, config: Mapping[str, Any], folder: Path) -> str:
    """What amtool has to say against *config*; empty when it is valid."""
    path = folder / "checked.yml"
    path.write_text(json.dumps(config))  # JSON is YAML
    return complaint_of_file(servers, path)


def complaint_of_file(servers: Servers, path: Path) -> str:
    """What amtool has to say against a file; empty when it is valid."""
    done = subprocess.run([servers.amtool, "check-config", path], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def with_receiver(body: Mapping[str, Any], **top: Any) -> dict[str, Any]:
    """The smallest configuration that has *body* as a receiver."""
    return {"route": {"receiver": "r"}, "receivers": [{"name": "r", **body}], **top}


def routed(servers: Servers, config: Path, labels: Mapping[str, str], *, expected: str) -> str:
    """Whom *labels* reach by amtool's word, which has compared them with *expected* itself."""
    pairs = [f'{label}="{_escaped(value)}"' for label, value in labels.items()]
    # It splits the flag at commas, so a receiver with a comma in its name is compared by the caller alone.
    verify = [] if "," in expected else [f"--verify.receivers={expected}"]
    done = subprocess.run(
        [servers.amtool, "config", "routes", "test", f"--config.file={config}", *verify, *pairs],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.removesuffix("\n")


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
