"""The example runs as it stands, and shows what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "integrations" / "adk.py"


def test_the_example_prints_a_call_a_rejection_and_a_drop() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", str(EXAMPLE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counted = [line for line in done.stdout.splitlines() if line.startswith("tooltel_")]
    assert any('outcome="ok"' in line for line in counted)
    assert any('outcome="invalid_arguments"' in line for line in counted)
    assert any('kind="structural"' in line and 'source="framework"' in line for line in counted)
    assert any(line.startswith("tooltel_tool_not_found_total") and 'reason="unknown"' in line for line in counted)
