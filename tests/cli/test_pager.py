"""`tooltel pager` serves its page until it is asked to end."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tooltel.cli import main

RUNBOOKS = Path(__file__).resolve().parents[2] / "alerts" / "runbooks"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_asked_to_end(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "tooltel", "pager", "--port", "0", "--runbooks", str(RUNBOOKS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            url = process.stderr.readline().split()[-1]
            assert url.startswith("http://127.0.0.1:")
            for path, words in (("", "Nobody has been told"), ("runbooks", "# Runbooks")):
                with urllib.request.urlopen(url + path, timeout=10) as answer:  # noqa: S310 - loopback
                    assert words in answer.read().decode()
            process.send_signal(number)
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (process.returncode, out) == (0, "")
    assert "Traceback" not in err


def test_a_port_in_use_is_told_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["pager", "--port", str(taken.getsockname()[1])]) == 2
    said = capsys.readouterr().err
    assert "in use; give another port" in said
    assert len(said.splitlines()) == 1


def test_a_folder_of_runbooks_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pager", "--port", "0", "--runbooks", "/nowhere"]) == 2
    assert "does not exist" in capsys.readouterr().err
