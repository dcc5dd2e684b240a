"""The example does what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "integrations" / "openai_agents_desk.py"


def test_the_example_shows_a_call_a_rejection_and_a_name_that_is_no_tool() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True, cwd="/")
    said, *counted = done.stdout.splitlines()
    assert said == "Tool order_teleport not found in agent support_agent"
    assert sorted(line.split(" {")[0] for line in counted if line.endswith(" 1")) == [
        "tooltel_rejections_total",
        "tooltel_tool_calls_total",
        "tooltel_tool_calls_total",
        "tooltel_tool_not_found_total",
    ]
