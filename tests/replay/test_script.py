from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from examples.replay.conversations import Conversation

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples" / "replay" / "replay.py"


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=60, check=False, cwd=cwd)


@pytest.mark.usefixtures("right_conversations")
def test_it_runs_by_itself_from_anywhere_and_says_what_it_counted(tmp_path: Path) -> None:
    done = run(str(SCRIPT), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "200 conversations: 1,142 calls of 81 tools (128 in the catalog)" in done.stdout
    for owner in ("files", "math", "messaging", "social", "support", "trading", "travel", "vehicle"):
        assert owner in done.stdout


@pytest.mark.usefixtures("right_conversations")
def test_its_openmetrics_text_holds_every_call(tmp_path: Path) -> None:
    done = run(str(SCRIPT), "--openmetrics", cwd=tmp_path)
    families = {family.name: family for family in text_string_to_metric_families(done.stdout)}  # type: ignore[no-untyped-call]
    calls = families["tooltel_tool_calls"].samples
    assert sum(sample.value for sample in calls if sample.name == "tooltel_tool_calls_total") == 1142


@pytest.mark.slow
@pytest.mark.usefixtures("right_conversations")
def test_a_careless_replay_tells_the_troubles_apart(tmp_path: Path) -> None:
    done = run(str(SCRIPT), "--careless", "7", cwd=tmp_path)
    assert done.returncode == 0
    for words in ("invalid", "error", "not found: ", " irreversible", "the tool's own business"):
        assert words in done.stdout


def test_without_the_data_it_says_in_one_line_how_to_get_it(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['bfcl_eval'] = None; from examples.replay.replay import main; sys.exit(main([]))"
    done = run("-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {hidden}", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "the replay needs PyPI's bfcl-eval, without its dependencies: make setup\n"


def test_a_difference_between_executed_and_recorded_calls_ends_with_1(
    right_conversations: list[Conversation], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from examples.replay import replay as script

    monkeypatch.setattr(script, "load_conversations", lambda: right_conversations[:3])
    monkeypatch.setattr(script, "play", _one_call_too_few)
    assert script.main([]) == 1
    assert "recorded and executed calls differ: " in capsys.readouterr().err


def _one_call_too_few(tel: object, conversations: list[Conversation]) -> list[object]:
    """What a replay with a hole in it would give: one conversation was played around the wrappers."""
    from examples.replay.playing import play, play_bare

    return [*play(tel, conversations[1:]), *play_bare(conversations[:1])]  # type: ignore[arg-type]
